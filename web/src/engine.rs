//! The way to the engine, which answers messages: in the page it runs in a worker.

use folioscope_core::service::{Reply, Request};
use js_sys::Uint8Array;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use wasm_bindgen::JsCast as _;
use wasm_bindgen::prelude::Closure;
use web_sys::{ErrorEvent, MessageEvent, Worker};
use yew::Callback;

/// What is said when the worker does not start.
const MISSING: &str = "the engine does not start: reload the page";

type Ask = dyn Fn(Request, Callback<Reply>);

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
    /// The engine in this worker; it answers in the order in which it was asked.
    pub fn of_worker(worker: Worker) -> Self {
        let waiting: Rc<RefCell<VecDeque<Callback<Reply>>>> = Rc::default();
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
                back.emit(Reply::Refused(MISSING.to_owned()));
            }
        });
        worker.set_onerror(Some(failed.as_ref().unchecked_ref()));
        Self(Rc::new(move |request, back| {
            // The listeners live as long as what asks.
            let _kept = (&told, &failed);
            let message = Uint8Array::from(request.encode().as_slice());
            waiting.borrow_mut().push_back(back);
            if worker.post_message(&message).is_err() {
                let back = waiting.borrow_mut().pop_back();
                if let Some(back) = back {
                    back.emit(Reply::Refused(MISSING.to_owned()));
                }
            }
        }))
    }
    /// Asks; the reply comes when it comes.
    pub(crate) fn ask(&self, request: Request, back: Callback<Reply>) {
        (self.0)(request, back);
    }
}

fn read(bytes: &[u8]) -> Reply {
    Reply::decode(bytes)
        .unwrap_or_else(|error| Reply::Refused(format!("the engine is not understood: {error}")))
}
