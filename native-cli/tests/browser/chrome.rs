//! What chromedriver offers beyond `WebDriver`: the console and its developer tools.

use fantoccini::wd::WebDriverCompatibleCommand;
use http::Method;
use serde_json::{Value, json};
use url::{ParseError, Url};

/// A command below the address of the session.
#[derive(Debug)]
pub(crate) struct Chrome {
    path: &'static str,
    body: Value,
}

impl Chrome {
    /// What the console said since the last time.
    pub(crate) fn console() -> Self {
        Self { path: "se/log", body: json!({ "type": "browser" }) }
    }
    /// One command of the developer tools.
    pub(crate) fn devtools(command: &str, params: &Value) -> Self {
        Self { path: "goog/cdp/execute", body: json!({ "cmd": command, "params": params }) }
    }
}

impl WebDriverCompatibleCommand for Chrome {
    fn endpoint(&self, base_url: &Url, session_id: Option<&str>) -> Result<Url, ParseError> {
        let session = session_id.expect("the session is open");
        base_url.join(&format!("session/{session}/{}", self.path))
    }
    fn method_and_body(&self, _request_url: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}
