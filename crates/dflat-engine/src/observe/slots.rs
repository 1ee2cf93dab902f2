//! Numbers of live queries that have something in common.

/// Slots in ascending order. One of its own, as it mostly is, takes no memory elsewhere.
#[derive(Debug)]
pub(super) enum Slots {
    One(u32),
    Many(Vec<u32>),
}

impl Default for Slots {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl Slots {
    pub(super) fn as_slice(&self) -> &[u32] {
        match self {
            Self::One(slot) => std::slice::from_ref(slot),
            Self::Many(slots) => slots,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.as_slice().is_empty()
    }

    /// Puts a slot in that is not there.
    pub(super) fn insert(&mut self, slot: u32) {
        match self {
            Self::Many(slots) if slots.is_empty() => *self = Self::One(slot),
            Self::One(one) => *self = Self::Many(vec![slot.min(*one), slot.max(*one)]),
            Self::Many(slots) => {
                let (Ok(at) | Err(at)) = slots.binary_search(&slot);
                slots.insert(at, slot);
            }
        }
    }

    pub(super) fn remove(&mut self, slot: u32) {
        match self {
            Self::One(one) if *one == slot => *self = Self::default(),
            Self::One(_) => {}
            Self::Many(slots) => {
                if let Ok(at) = slots.binary_search(&slot) {
                    slots.remove(at);
                }
            }
        }
    }
}
