//! A few numbered things, ascending: those that exist at one moment and are soon gone.
//!
//! Made for tens of rows, where a sorted list is as quick as a tree and far less code.

/// Things by number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Rows<T>(Vec<(u32, T)>);

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Rows<T> {
    fn find(&self, id: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&id, |(id, _)| *id)
    }
    pub(super) fn get(&self, id: u32) -> Option<&T> {
        self.find(id).ok().map(|at| &self.0[at].1)
    }
    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut T> {
        self.find(id).ok().map(|at| &mut self.0[at].1)
    }
    /// The thing with this number, made if there is none.
    pub(super) fn entry(&mut self, id: u32, fresh: impl FnOnce() -> T) -> &mut T {
        let at = self.find(id).unwrap_or_else(|at| {
            self.0.insert(at, (id, fresh()));
            at
        });
        &mut self.0[at].1
    }
    pub(super) fn remove(&mut self, id: u32) {
        if let Ok(at) = self.find(id) {
            self.0.remove(at);
        }
    }
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.0.iter().map(|(id, thing)| (*id, thing))
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn rows_are_found_by_number_and_stay_in_order() {
        let mut rows = Rows::default();
        for id in [5, 1, 3, 1] {
            *rows.entry(id, || 0) += id;
        }
        rows.remove(4);
        rows.remove(3);
        assert_eq!(rows.iter().collect::<Vec<_>>(), [(1, &2), (5, &5)]);
        assert_eq!(rows.get(3), None);
        assert_eq!(rows.get_mut(5), Some(&mut 5));
    }
}
