//! Arrays of disks (`drivers/md`): where a sector lies, what a write costs, what is left after a
//! member is lost.
//!
//! Nothing here does I/O: an array takes bios and gives I/Os of its members, whose ends the host
//! reports. Sectors are 512 bytes; a member's sectors are counted from the start of its data.

pub mod field;
pub mod limits;
pub mod mirrors;
pub mod parity;
pub mod run;
pub mod stripes;
pub mod table;
pub mod zones;
