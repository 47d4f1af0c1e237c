//! What a file must hold: a plain array of bytes, and where something failed the other values that
//! a byte may have.
//!
//! Two reasons give a byte more than one value. An operation that failed may have done part of its
//! work: the byte is old or new, and the first look decides. A write to the device failed: the
//! folio is clean, so that the byte is what the cache has as long as it is cached, and what the
//! device has from then on; only a write that succeeds settles it.

/// Values that a byte may have besides the one in the array.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Cell {
    others: [u8; 3],
    count: u8,
    /// Cache and device differ though the folio is clean: a look decides nothing.
    loose: bool,
}

/// The count of a byte that may be anything.
const ANY: u8 = u8::MAX;

impl Cell {
    fn has(self, byte: u8) -> bool {
        self.count == ANY || self.others[..usize::from(self.count)].contains(&byte)
    }
    fn add(&mut self, byte: u8) {
        if self.has(byte) {
            return;
        }
        let free = usize::from(self.count);
        if free == self.others.len() {
            self.count = ANY;
        } else {
            self.others[free] = byte;
            self.count += 1;
        }
    }
}

/// A byte of the device; none: nobody knows.
type Stored = Option<u8>;

/// What is not certain, where faults are possible.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Doubts {
    /// One for each byte of the file.
    cells: Vec<Cell>,
    /// What the device has for each byte of the file's blocks, also beyond EOF.
    device: Vec<Stored>,
    /// A write to the device failed at some time: the recorded size may be short.
    failed: bool,
}

/// The bytes of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Model {
    bytes: Vec<u8>,
    doubts: Option<Box<Doubts>>,
}

impl Model {
    /// A file of these bytes, which are on the device. `faults`: some may get lost.
    pub fn new(bytes: Vec<u8>, faults: bool) -> Self {
        let cells = vec![Cell::default(); bytes.len()];
        let device = bytes.iter().copied().map(Some).collect();
        let doubts = || Box::new(Doubts { cells, device, failed: false });
        let doubts = faults.then(doubts);
        Self { bytes, doubts }
    }
    /// Bytes of the file.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    /// The most likely bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
    /// Gives the file another size; new bytes are zero.
    pub fn resize(&mut self, len: usize) {
        self.bytes.resize(len, 0);
        if let Some(doubts) = &mut self.doubts {
            doubts.cells.resize(len, Cell::default());
        }
    }
    /// Puts bytes at a place; the file grows to hold them.
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        if self.bytes.len() < end {
            self.resize(end);
        }
        self.bytes[at..end].copy_from_slice(bytes);
        self.certain(at, end);
    }
    /// Puts one byte throughout `[start, end)`, which lies in the file.
    pub fn fill(&mut self, start: usize, end: usize, byte: u8) {
        self.bytes[start..end].fill(byte);
        self.certain(start, end);
    }
    /// The bytes of a range are what the array says.
    fn certain(&mut self, start: usize, end: usize) {
        if let Some(doubts) = &mut self.doubts {
            doubts.cells[start..end].fill(Cell::default());
        }
    }
    /// The bytes of a range may also be these.
    pub fn maybe(&mut self, start: usize, bytes: impl Iterator<Item = u8>) {
        let Self { bytes: mine, doubts } = self;
        let Some(doubts) = doubts else { return };
        let cells = doubts.cells.iter_mut().zip(mine).skip(start);
        for ((cell, mine), byte) in cells.zip(bytes) {
            if *mine != byte {
                cell.add(byte);
            }
        }
    }
    /// The bytes of a range may have been copied into the cache, into clean folios, too.
    pub fn perhaps_copied(&mut self, start: usize, copied: &[u8]) {
        let Self { bytes: mine, doubts } = self;
        let Some(doubts) = doubts else { return };
        let cells = doubts.cells.iter_mut().zip(mine).skip(start);
        for ((cell, mine), byte) in cells.zip(copied) {
            if mine != byte {
                cell.add(core::mem::replace(mine, *byte));
                cell.loose = true;
            }
        }
    }
    /// Takes `[start, end)` out, whole blocks.
    pub fn remove(&mut self, start: usize, end: usize) {
        self.bytes.drain(start..end);
        if let Some(doubts) = &mut self.doubts {
            doubts.cells.drain(start..end);
            let device = &mut doubts.device;
            device.drain(start.min(device.len())..end.min(device.len()));
        }
    }
    /// Puts `len` zeroes in at `start`, whole blocks.
    pub fn insert(&mut self, start: usize, len: usize) {
        self.bytes.splice(start..start, core::iter::repeat_n(0, len));
        if let Some(doubts) = &mut self.doubts {
            doubts.cells.splice(start..start, core::iter::repeat_n(Cell::default(), len));
            let device = &mut doubts.device;
            let start = start.min(device.len());
            device.splice(start..start, core::iter::repeat_n(Some(0), len));
        }
    }
    /// The bytes from a place on may be anything, on the device, too.
    pub fn unknown(&mut self, start: usize) {
        let Some(doubts) = &mut self.doubts else { return };
        for cell in doubts.cells.iter_mut().skip(start) {
            cell.count = ANY;
        }
        self.unknown_on_device(start, usize::MAX);
    }
    /// What the device has for `[start, end)` may be anything.
    pub fn unknown_on_device(&mut self, start: usize, end: usize) {
        let Some(doubts) = &mut self.doubts else { return };
        let end = end.min(doubts.device.len().max(doubts.cells.len()));
        if doubts.device.len() < end {
            doubts.device.resize(end, Some(0));
        }
        if start < end {
            doubts.device[start..end].fill(None);
        }
    }
    /// The blocks `[start, end)` are holes now.
    pub fn freed(&mut self, start: usize, end: usize) {
        let Some(doubts) = &mut self.doubts else { return };
        let end = end.min(doubts.device.len());
        if start < end {
            doubts.device[start..end].fill(Some(0));
        }
    }
    /// A write to the device ended; none: it failed.
    pub fn landed(&mut self, start: usize, end: usize, data: Option<&[u8]>) {
        let Self { bytes, doubts } = self;
        let Some(doubts) = doubts else { return };
        let Doubts { cells, device, failed } = &mut **doubts;
        if device.len() < end {
            device.resize(end, Some(0));
        }
        *failed |= data.is_none();
        for at in start..end {
            let mut cell = cells.get_mut(at);
            match (data, &mut cell) {
                (Some(data), cell) => {
                    device[at] = Some(data[at - start]);
                    if let Some(cell) = cell.as_mut().filter(|cell| cell.loose) {
                        if cell.count == 1 {
                            bytes[at] = data[at - start];
                            **cell = Cell::default();
                        }
                        cell.loose = false;
                    }
                }
                (None, Some(cell)) if device[at] != Some(bytes[at]) || cell.count > 0 => {
                    match device[at] {
                        Some(byte) => cell.add(byte),
                        None => cell.count = ANY,
                    }
                    cell.loose = true;
                }
                (None, _) => {}
            }
        }
    }
    /// Whether the bytes of a range may be `got`; if not, the first that may not. A look decides
    /// where several values were possible.
    pub fn look(&mut self, start: usize, got: &[u8]) -> Result<(), usize> {
        let Self { bytes, doubts } = self;
        let mine = &mut bytes[start..start + got.len()];
        let Some(doubts) = doubts else {
            return if mine == got { Ok(()) } else { Err(start + first_difference(mine, got)) };
        };
        for (at, (mine, got)) in mine.iter_mut().zip(got).enumerate() {
            let cell = &mut doubts.cells[start + at];
            if cell.count == 0 && mine == got {
                continue;
            }
            if mine != got && !cell.has(*got) {
                return Err(start + at);
            }
            // From the device: then the cache has it from there, too.
            let settled = !cell.loose || cell.count == 1 && mine != got;
            if settled {
                *mine = *got;
                *cell = Cell::default();
            }
        }
        Ok(())
    }
    /// The same for a look past the cache, which says nothing of what is cached.
    pub fn look_at_device(&mut self, start: usize, got: &[u8]) -> Result<(), usize> {
        let loose: Vec<(usize, u8, Cell)> = self.doubts.as_ref().map_or_else(Vec::new, |doubts| {
            let all = doubts.cells.iter().zip(&self.bytes).enumerate().skip(start).take(got.len());
            all.filter(|(_, (cell, _))| cell.loose).map(|(at, (cell, b))| (at, *b, *cell)).collect()
        });
        let looked = self.look(start, got);
        for (at, byte, cell) in loose {
            self.bytes[at] = byte;
            if let Some(doubts) = &mut self.doubts {
                doubts.cells[at] = cell;
            }
        }
        looked
    }
    /// The bytes from `at` on become `len` bytes of a file from `start` on, as they are on the
    /// device, and so do its blocks up to `blocks` bytes; the file grows to hold them.
    pub fn link(&mut self, at: usize, from: &Self, (start, len): (usize, usize), blocks: usize) {
        self.put(at, &from.bytes[start..start + len]);
        let (Some(doubts), Some(other)) = (&mut self.doubts, &from.doubts) else { return };
        for nth in 0..len {
            let cell = other.cells[start + nth];
            let stored = other.device.get(start + nth).copied().unwrap_or(Some(0));
            doubts.cells[at + nth] = match stored {
                _ if !cell.loose => cell,
                Some(byte) => {
                    self.bytes[at + nth] = byte;
                    Cell::default()
                }
                None => Cell { count: ANY, ..Cell::default() },
            };
        }
        if doubts.device.len() < at + blocks {
            doubts.device.resize(at + blocks, Some(0));
        }
        for nth in 0..blocks {
            let stored = other.device.get(start + nth).copied().unwrap_or(Some(0));
            doubts.device[at + nth] = stored;
        }
    }
    /// Where the device may have something else than `data` for the bytes from `at` on, counted
    /// from there.
    pub fn stores_other(&self, at: usize, data: &[u8]) -> impl Iterator<Item = usize> {
        let device = self.doubts.as_ref().map_or(&[][..], |doubts| &doubts.device);
        let stored = (at..).map(|at| device.get(at).copied().flatten());
        let other = data.iter().zip(stored).enumerate();
        other.filter_map(|(nth, (byte, stored))| {
            stored.is_some_and(|stored| stored != *byte).then_some(nth)
        })
    }
    /// Whether a clean folio may have something else for a byte than the device.
    pub fn may_differ(&self, at: usize) -> bool {
        let cell = self.doubts.as_ref().and_then(|doubts| doubts.cells.get(at));
        cell.is_some_and(|cell| cell.loose)
    }
    /// The blocks that hold bytes from `at` on were overwritten by another file: the cache may have
    /// the old ones still.
    pub fn overwritten(&mut self, at: usize, data: &[u8]) {
        let Self { bytes, doubts } = self;
        let Some(doubts) = doubts else { return };
        let Doubts { cells, device, .. } = &mut **doubts;
        for (at, byte) in (at..).zip(data) {
            if let Some(stored) = device.get_mut(at) {
                *stored = Some(*byte);
            }
            if let (Some(cell), Some(mine)) = (cells.get_mut(at), bytes.get(at))
                && (mine != byte || cell.count > 0)
            {
                cell.add(*byte);
                cell.loose = true;
            }
        }
    }
    /// Whether the device may have `got` for the bytes from `start` on once all is durable; if not,
    /// the first that it may not have.
    pub fn durable(&self, start: usize, got: &[u8]) -> Result<(), usize> {
        let mine = &self.bytes[start..start + got.len()];
        let Some(doubts) = &self.doubts else {
            return if mine == got { Ok(()) } else { Err(start + first_difference(mine, got)) };
        };
        let cells = &doubts.cells[start..];
        let wrong =
            mine.iter().zip(got).zip(cells).position(|((a, b), cell)| a != b && !cell.has(*b));
        wrong.map_or(Ok(()), |at| Err(start + at))
    }
    /// Whether a write to the device ever failed.
    pub fn lost(&self) -> bool {
        self.doubts.as_ref().is_some_and(|doubts| doubts.failed)
    }
}

fn first_difference(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).position(|(a, b)| a != b).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_write_is_new_or_old_until_one_succeeds() {
        let mut model = Model::new(vec![1; 4], true);
        model.put(1, &[2, 2]);
        model.landed(0, 4, None);
        assert_eq!(model.look(0, &[1, 2, 2, 1]), Ok(()));
        assert_eq!(model.clone().look(0, &[1, 3, 2, 1]), Err(1));
        // The folio left the cache: one byte is read from the device, the other was not looked at.
        assert_eq!(model.look(1, &[1]), Ok(()));
        assert_eq!(model.clone().look(1, &[2]), Err(1));
        assert_eq!(model.durable(0, &[1, 1, 1, 1]), Ok(()));
        model.put(2, &[7]);
        model.landed(0, 4, Some(&[1, 1, 7, 1]));
        assert_eq!(model.durable(0, &[1, 1, 2, 1]), Err(2));
    }

    #[test]
    fn a_copy_that_was_rejected_may_stand_in_a_clean_folio() {
        let mut model = Model::new(vec![1; 3], true);
        model.perhaps_copied(0, &[5, 5, 1]);
        assert_eq!(model.look(0, &[5, 1]), Ok(()));
        // The first is in the cache, the second was not copied.
        assert_eq!(model.clone().look(0, &[5, 1, 1]), Ok(()));
        assert_eq!(model.clone().look(1, &[5]), Err(1));
        assert_eq!(model.look(0, &[1]), Ok(()));
        assert_eq!(model.look(0, &[5]), Err(0));
    }

    #[test]
    fn the_first_look_decides_what_an_operation_did() {
        let mut model = Model::new(vec![1; 2], true);
        model.maybe(0, [5, 5].into_iter());
        assert_eq!(model.look(0, &[5]), Ok(()));
        assert_eq!(model.clone().look(0, &[1]), Err(0));
        assert_eq!(model.look(1, &[1]), Ok(()));
        assert_eq!(model.look(1, &[5]), Err(1));
    }
}
