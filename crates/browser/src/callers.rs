//! Which tab is whose. Each caller works in tabs of its own and has one current tab; what it was told last decides which
//! browser it acts in.

use std::collections::HashMap;

use crate::transport::TabId;

/// What is remembered of one caller.
#[derive(Debug, Default, Clone)]
pub(crate) struct Seat {
    /// Tabs it worked in, the current one last.
    tabs: Vec<TabId>,
    /// The browser that a result named to it last.
    pub(crate) browser: Option<String>,
}

impl Seat {
    pub(crate) fn current(&self) -> Option<TabId> {
        self.tabs.last().copied()
    }

    /// Makes a tab the current one.
    pub(crate) fn sit(&mut self, tab: TabId, browser: String) {
        self.tabs.retain(|t| *t != tab);
        self.tabs.push(tab);
        self.browser = Some(browser);
    }

    /// Forgets a tab; the one used before it becomes the current one.
    pub(crate) fn leave(&mut self, tab: TabId) {
        self.tabs.retain(|t| *t != tab);
    }
}

/// All callers.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    seats: HashMap<String, Seat>,
}

impl Callers {
    pub(crate) fn seat(&mut self, caller: &str) -> &mut Seat {
        self.seats.entry(caller.to_owned()).or_default()
    }

    pub(crate) fn current(&self, caller: &str) -> Option<TabId> {
        self.seats.get(caller).and_then(Seat::current)
    }

    pub(crate) fn forget(&mut self, caller: &str) {
        self.seats.remove(caller);
    }

    /// Whether any caller works in this tab.
    pub(crate) fn taken(&self, tab: TabId) -> bool {
        self.seats.values().any(|s| s.tabs.contains(&tab))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_the_current_tab_goes_back_to_the_one_before() {
        let mut callers = Callers::default();
        let seat = callers.seat("a");
        seat.sit(1, "m".into());
        seat.sit(2, "m".into());
        seat.sit(1, "m".into());
        assert_eq!(seat.current(), Some(1));
        seat.leave(1);
        assert_eq!(callers.current("a"), Some(2));
        assert_eq!(callers.current("b"), None);
        assert!(callers.taken(2) && !callers.taken(1));
        callers.forget("a");
        assert!(!callers.taken(2));
    }
}
