//! The way to the engine, which answers messages. What is asked first and most was answered when
//! the page was built and lies beside it; for all else a worker runs the engine, from the first
//! such question on.

use folioscope_core::service::{Reply, Request};
use js_sys::{ArrayBuffer, Function, Uint8Array};
use std::cell::{OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::prelude::{Closure, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{ErrorEvent, MessageEvent, Response, Worker};
use yew::Callback;

/// What is said when the worker does not start.
const MISSING: &str = "the engine does not start: reload the page";

type Ask = dyn Fn(Request, Callback<Reply>);
type Waiting = Rc<RefCell<VecDeque<Callback<Reply>>>>;

/// Takes requests and hands each reply to the callback that came with its request.
#[derive(Clone)]
pub struct Engine(Rc<Ask>);

impl PartialEq for Engine {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Engine {
    /// An engine that answers at once.
    pub fn local(answer: impl Fn(&[u8]) -> Vec<u8> + 'static) -> Self {
        Self(Rc::new(move |request, back| back.emit(read(&answer(&request.encode())))))
    }
    /// What lies beside the page, and the worker that this function makes.
    pub fn of_page(make_worker: Function) -> Self {
        let worker = Rc::new(OnceCell::new());
        Self(Rc::new(move |request, back| {
            let (worker, make) = (worker.clone(), make_worker.clone());
            let by_worker = move |request: &Request, back| {
                let worker = worker.get_or_init(|| Background::start(&make));
                match worker {
                    Some(worker) => worker.ask(request, back),
                    None => refuse(&back),
                }
            };
            let Some(file) = request.file_name() else { return by_worker(&request, back) };
            spawn_local(async move {
                match fetch(&file).await {
                    Ok(bytes) => back.emit(read(&bytes)),
                    Err(_) => by_worker(&request, back),
                }
            });
        }))
    }
    /// Asks; the reply comes when it comes.
    pub(crate) fn ask(&self, request: Request, back: Callback<Reply>) {
        (self.0)(request, back);
    }
}

/// The worker; it answers in the order in which it was asked.
struct Background {
    worker: Worker,
    waiting: Waiting,
    _told: Closure<dyn Fn(MessageEvent)>,
    _failed: Closure<dyn Fn(ErrorEvent)>,
}

impl Background {
    fn start(make: &Function) -> Option<Self> {
        let worker: Worker = make.call0(&JsValue::NULL).ok()?.dyn_into().ok()?;
        let waiting = Waiting::default();
        let next = waiting.clone();
        let told = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            let reply = match event.data().dyn_into::<Uint8Array>() {
                Ok(bytes) => read(&bytes.to_vec()),
                Err(words) => Reply::Refused(words.as_string().unwrap_or_default()),
            };
            let back = next.borrow_mut().pop_front();
            if let Some(back) = back {
                back.emit(reply);
            }
        });
        worker.set_onmessage(Some(told.as_ref().unchecked_ref()));
        let all = waiting.clone();
        let failed = Closure::<dyn Fn(ErrorEvent)>::new(move |_: ErrorEvent| {
            let all = core::mem::take(&mut *all.borrow_mut());
            for back in &all {
                refuse(back);
            }
        });
        worker.set_onerror(Some(failed.as_ref().unchecked_ref()));
        Some(Self { worker, waiting, _told: told, _failed: failed })
    }
    fn ask(&self, request: &Request, back: Callback<Reply>) {
        let message = Uint8Array::from(request.encode().as_slice());
        if self.worker.post_message(&message).is_err() {
            return refuse(&back);
        }
        self.waiting.borrow_mut().push_back(back);
    }
}

fn refuse(back: &Callback<Reply>) {
    back.emit(Reply::Refused(MISSING.to_owned()));
}

fn read(bytes: &[u8]) -> Reply {
    Reply::decode(bytes)
        .unwrap_or_else(|error| Reply::Refused(format!("the engine is not understood: {error}")))
}

/// A reply that lies beside the page.
async fn fetch(file: &str) -> Result<Vec<u8>, JsValue> {
    let window = web_sys::window().ok_or(JsValue::NULL)?;
    let path = format!("replies/{file}");
    let response: Response = JsFuture::from(window.fetch_with_str(&path)).await?.dyn_into()?;
    if !response.ok() {
        return Err(JsValue::NULL);
    }
    let buffer: ArrayBuffer = JsFuture::from(response.array_buffer()?).await?.dyn_into()?;
    Ok(Uint8Array::new(&buffer).to_vec())
}
