//! What it costs to make user memory present (`fault_in_iov_iter_readable`).

use crate::units::{Bytes, Offset};
use crate::world::{Env, World};

impl<E: Env> World<E> {
    /// Bytes of user memory that are touched to find out whether `asked` bytes from `user` on are
    /// present: the first, and the first of every further page, however often they were touched
    /// before. The buffer starts at a page. A touch that fails is the last.
    pub(crate) fn user_touches(&self, user: Offset, (asked, present): (Bytes, Bytes)) -> u64 {
        let page = self.geometry().page_size().get();
        let touched = if present < asked { present + Bytes::new(1) } else { present };
        let end = (user + touched).get();
        end.div_ceil(page) - (user.get() / page).min(end.div_ceil(page))
    }
}
