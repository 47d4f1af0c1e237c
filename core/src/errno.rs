//! Errors that an operation of the engine can return, under the kernel's names.

use core::fmt;

/// The error of a system call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Errno {
    /// Would have to wait.
    Again,
    /// Somebody uses it.
    Busy,
    /// User memory cannot be read or written.
    Fault,
    /// The file would be larger than any may be.
    FBig,
    /// An argument makes no sense.
    Inval,
    /// The device failed, or the engine's own state is broken.
    Io,
    /// No memory.
    NoMem,
    /// No space on the device.
    NoSpc,
    /// No such place: a seek at or beyond EOF, or no data behind.
    NxIo,
    /// The file cannot do that.
    OpNotSupp,
    /// The files are of two file systems.
    XDev,
    /// Nobody may do that.
    Perm,
}

impl Errno {
    /// Every error.
    pub const ALL: [Self; 12] = [
        Self::Again,
        Self::Busy,
        Self::Fault,
        Self::FBig,
        Self::Inval,
        Self::Io,
        Self::NoMem,
        Self::NoSpc,
        Self::NxIo,
        Self::OpNotSupp,
        Self::XDev,
        Self::Perm,
    ];
    /// The error with this number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|errno| errno.number() == number)
    }
    /// The number that Linux uses on x86-64.
    pub const fn number(self) -> u8 {
        match self {
            Self::Io => 5,
            Self::NxIo => 6,
            Self::Again => 11,
            Self::NoMem => 12,
            Self::Busy => 16,
            Self::XDev => 18,
            Self::Fault => 14,
            Self::Inval => 22,
            Self::FBig => 27,
            Self::NoSpc => 28,
            Self::OpNotSupp => 95,
            Self::Perm => 1,
        }
    }
    /// The name, such as `EIO`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Again => "EAGAIN",
            Self::Busy => "EBUSY",
            Self::Fault => "EFAULT",
            Self::FBig => "EFBIG",
            Self::Inval => "EINVAL",
            Self::Io => "EIO",
            Self::NoMem => "ENOMEM",
            Self::NoSpc => "ENOSPC",
            Self::NxIo => "ENXIO",
            Self::OpNotSupp => "EOPNOTSUPP",
            Self::XDev => "EXDEV",
            Self::Perm => "EPERM",
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl core::error::Error for Errno {}
