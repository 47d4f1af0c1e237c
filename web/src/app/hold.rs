//! What may happen to the handles over the picture.

use super::{App, Msg};
use crate::edit::{self, Change, Edit};
use crate::grips::{self, Drag, Seen, What};
use crate::session::Run;
use folioscope_core::scene::spots::{Move, Thing};
use yew::Context;

/// What a viewer does with a handle, or with keys instead of one.
#[derive(Clone, Copy, Debug)]
pub enum Hold {
    /// Takes it: its number, and where.
    Take(usize, (f64, f64)),
    /// Drags it; Alt = finer.
    To((f64, f64), bool),
    /// Lets it go.
    Drop,
    /// Leaves it as it was.
    Leave,
    /// One step for what is under the cursor.
    Step(Move),
    /// Writes the block under the cursor.
    Write,
}

impl App {
    pub(super) fn hold(&mut self, ctx: &Context<Self>, hold: Hold) {
        let edit = match hold {
            Hold::Take(nth, at) => {
                self.held = self.grips.get(nth).map(|grip| Drag::new(*grip, at));
                None
            }
            Hold::To(at, fine) => {
                if let Some(drag) = &mut self.held {
                    drag.to(at, fine);
                }
                None
            }
            Hold::Leave => {
                self.held = None;
                None
            }
            Hold::Drop => self.dropped(),
            Hold::Step(to) => self.stepped(to),
            Hold::Write => self.written(),
        };
        if let Some(edit) = edit {
            self.edit(ctx, edit);
        }
    }
    fn dropped(&mut self) -> Option<Edit> {
        let drag = self.held.take()?;
        let form = self.seen()?;
        let key = drag.grip.what.key();
        if drag.is_still() && drag.grip.what != What::Write {
            return Some(Edit::Field(form.section(key)?, key.1));
        }
        let change = drag.change(&self.picture.scene, form, self.place()?)?;
        Some(Edit::Change(change))
    }
    fn stepped(&self, to: Move) -> Option<Edit> {
        let (what, more) = What::of_key(self.state.as_ref()?.looking.cursor?, to)?;
        let key = what.key();
        Some(Edit::Change(Change::Step(self.seen()?.section(key)?, key.1.to_owned(), more)))
    }
    fn written(&self) -> Option<Edit> {
        let Thing::Blocks(block) = self.state.as_ref()?.looking.cursor?.thing else { return None };
        let len = self.picture.scene.block;
        let change = grips::write((block * len, len), self.place()?);
        Some(Edit::Change(change))
    }
    /// Behind which operation a new one comes, and the file that it is about, if that is not the
    /// first.
    fn place(&self) -> Option<(Option<usize>, Option<&str>)> {
        let state = self.state.as_ref()?;
        let (form, _) = self.editor.form()?;
        let mut files = form.sections.iter().filter(|section| section.table == "file");
        let file = files.nth(state.file as usize).filter(|_| state.file > 0);
        let after = state.session.runs().last().map(Run::started);
        Some((after, file.map(|file| file.words.as_str())))
    }
    /// The form as the setting sees it whose run is edited: the last one.
    fn seen(&self) -> Option<Seen<'_>> {
        let name = self.state.as_ref()?.session.runs().last()?.name();
        let setting = name.strip_suffix(edit::EDITED).unwrap_or(name);
        Some(Seen { form: self.editor.form()?.0, setting })
    }
    /// Finds the handles of the picture.
    pub(super) fn find_grips(&mut self) {
        let form = self.seen().filter(|_| self.editor.open && !self.gallery);
        self.grips = form.map_or_else(Vec::new, |form| {
            grips::grips(&self.picture.scene, &self.picture.spots, form)
        });
    }
}

impl From<Hold> for Msg {
    fn from(hold: Hold) -> Self {
        Self::Hold(hold)
    }
}
