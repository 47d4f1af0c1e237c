//! Running totals of one world, kept whether or not it is traced.

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What is counted.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(u8)]
        pub enum Counter { $($(#[$doc])* $name,)* }

        impl Counter {
            /// Every counter, in the order of its code.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// The name in JSON and tables.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
            /// The code in deltas.
            pub const fn code(self) -> u32 {
                self as u32
            }
        }
    };
}

counters! {
    /// Bytes that write calls copied into the cache.
    AppWritten = "app_bytes_written",
    /// Bytes that read calls returned.
    AppRead = "app_bytes_read",
    /// Bytes of completed write bios.
    DeviceWritten = "device_bytes_written",
    /// Bytes of completed read bios.
    DeviceRead = "device_bytes_read",
    /// Bytes sent to the device in whole blocks that nobody had changed.
    CleanWritten = "clean_bytes_written",
    /// Bytes read only because a write covered part of their block or run.
    ReadForModify = "read_for_modify_bytes",
    /// Write bios submitted.
    WriteBios = "write_bios",
    /// Read bios submitted.
    ReadBios = "read_bios",
    /// Bios that completed with an error.
    FailedBios = "failed_bios",
    /// Cache flushes of the device.
    Flushes = "device_flushes",
    /// Folios put into the cache.
    FoliosCreated = "folios_created",
    /// Mapping lookups (`iomap_begin` and its like for writeback).
    BeginCalls = "begin_calls",
    /// Bytes of user memory that were asked to be present before a copy, in all.
    FaultInBytes = "fault_in_bytes",
    /// Copies from user memory that were tried.
    CopyAttempts = "copy_attempts",
    /// Broken invariants.
    BrokenInvariants = "broken_invariants",
    /// Bytes of user memory that were touched one by one to make it present: one at the start and
    /// one for each page boundary crossed, each time.
    UserTouches = "user_touches",
    /// Requests issued to the device; none where bios go straight to it.
    Requests = "requests",
    /// Bios that joined the back of a request.
    BackMerges = "back_merges",
    /// Bios that joined the front of a request.
    FrontMerges = "front_merges",
    /// Atomic changes of referenced marks by uses of folios.
    AtomicFlagOps = "atomic_flag_ops",
    /// Referenced marks set by a plain store, before anybody could see the folio.
    PlainFlagOps = "plain_flag_ops",
    /// Folios that became active because they were used twice.
    Activations = "activations",
    /// Folios that reclaim looked at while they were marked referenced.
    ScansWithR = "scans_with_r",
    /// Folios read where reclaim had taken one.
    Refaults = "refaults",
    /// Times a write asked whether too much is dirty.
    BalanceDirtyCalls = "balance_dirty_calls",
    /// Cuts of bios by the limits of the queue.
    SplitBios = "split_bios",
    /// Direct writes after which dirty cache stood in their range.
    DirectCollisions = "dio_collisions",
    /// Direct writes that went through the cache, as it could not be dropped or blocks were
    /// missing.
    DirectFallbacks = "dio_fallbacks",
    /// Buffers that were looked at one by one.
    BufferVisits = "buffer_visits",
    /// Bytes read from members of an array.
    MemberRead = "member_bytes_read",
    /// Bytes written to members of an array.
    MemberWritten = "member_bytes_written",
    /// Rows of an array that were written whole.
    RowsFull = "array_rows_full",
    /// Rows whose parity was updated from what changed.
    RowsRmw = "array_rows_rmw",
    /// Rows whose parity was made anew though not all of their data was written.
    RowsRcw = "array_rows_rcw",
    /// Rows that waited for more data.
    RowsDelayed = "array_rows_delayed",
    /// Rows that waited and were then written whole.
    RowsAbsorbed = "array_rows_absorbed",
    /// Bytes that an array lost though nobody wrote them since: made from parity that did not fit.
    Damaged = "damaged_bytes",
    /// Of the bytes written to members of an array, those of a log or of a bitmap.
    MemberLogged = "member_log_bytes_written",
}

/// The value of every counter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counters([u64; Counter::ALL.len()]);

impl Default for Counters {
    fn default() -> Self {
        Self([0; Counter::ALL.len()])
    }
}

impl Counters {
    /// The value of one.
    pub const fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }
    /// The place of one, by code.
    pub fn slot(&mut self, code: u32) -> Option<&mut u64> {
        self.0.get_mut(code as usize)
    }
    /// All with their names.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> {
        Counter::ALL.iter().map(|counter| (*counter, self.get(*counter)))
    }
    /// Bytes that reached the device for each byte the application wrote; none before it wrote.
    pub fn amplification(&self) -> Option<f64> {
        let app = self.get(Counter::AppWritten);
        (app > 0).then(|| self.get(Counter::DeviceWritten) as f64 / app as f64)
    }
}
