//! Lists for the caller.

/// A move of an object in a list: `dflat_move`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RawMove {
    from: u64,
    to: u64,
}

impl RawMove {
    /// A move from a position to another one.
    pub(crate) const fn new(from: usize, to: usize) -> Self {
        Self {
            from: from as u64,
            to: to as u64,
        }
    }
}

/// A list for the caller, which is valid as long as its owner. The library does not read it back.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct GivenList<T> {
    first: *const T,
    count: usize,
}

impl<T> GivenList<T> {
    /// A list of the library.
    pub(crate) const fn of(list: &[T]) -> Self {
        Self {
            first: list.as_ptr(),
            count: list.len(),
        }
    }
}

/// Positions for the caller: `dflat_positions`.
pub(crate) type Given64 = GivenList<u64>;

/// Moves for the caller: `dflat_moves`.
pub(crate) type GivenMoves = GivenList<RawMove>;
