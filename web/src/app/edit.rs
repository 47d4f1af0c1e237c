//! What may happen to the editor: its questions go to the engine, its runs to the stage.

use super::{App, Msg};
use crate::edit::{self, Edit, Wish};
use crate::state::State;
use yew::{Component as _, Context};

impl App {
    /// The editor changes, and what it wishes is done.
    pub(super) fn edit(&mut self, ctx: &Context<Self>, edit: Edit) {
        let was = self.editor.open;
        let wishes = self.editor.update(edit, self.state.as_ref());
        if self.editor.open && !was {
            self.pause();
            self.gallery = false;
            self.state = self.state.take().map(State::sandbox);
        }
        for wish in wishes {
            match wish {
                Wish::Ask(question, request) => {
                    let back = ctx
                        .link()
                        .callback(move |reply| Msg::Edit(Edit::Replied(question, Box::new(reply))));
                    ctx.props().engine.ask(request, back);
                }
                Wish::Show(session, target) => {
                    let at = edit::moment(&session, target);
                    self.replace(*session);
                    if let Some(state) = &mut self.state {
                        state.session.go(at);
                    }
                }
                Wish::Say(words) => {
                    if let Some(state) = &mut self.state {
                        state.said = words;
                    }
                }
                Wish::Go(op) => {
                    if let Some(state) = &mut self.state {
                        let target = edit::Target::End(op as u32);
                        state.step_to(edit::moment(&state.session, target));
                    }
                }
                Wish::Sandbox => {
                    self.update(ctx, Msg::Example(edit::SANDBOX.to_owned()));
                }
            }
        }
    }
}
