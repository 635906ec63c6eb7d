//! The calendar: the future event list of a run, and its clock.
//!
//! Events leave in (time, sequence) order, the sequence being the order of scheduling: what was asked for first happens
//! first. Two structures hold them. Events of a later instant wait in a 4-ary heap of packed keys; events of the current
//! instant wait in a first-in-first-out lane. An event in the heap for the current instant was scheduled before the clock
//! got here, hence before everything in the lane: heap first, then lane, is exactly (time, sequence) order.
//!
//! A key is one `u128`: time (64 bits), sequence (40), slot (24). Payloads stay put in a slab, so the heap moves 16 bytes
//! whatever the size of an event. The limits are 2^24 pending events and 2^40 events a run; both are asserted.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::heap::KeyHeap;
use crate::model::Time;

const SLOT_BITS: u32 = 24;
const SEQUENCE_BITS: u32 = 40;
const SLOT_LIMIT: usize = 1 << SLOT_BITS;
const SEQUENCE_LIMIT: u64 = 1 << SEQUENCE_BITS;

/// What a pending event means for the end of a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Nature {
    /// Something is under way: a run is not quiet while one is pending.
    Work,
    /// A retry waits for its delay: a run with nothing else left is quiet.
    Backoff,
    /// What a healthy idle system does for ever: heartbeats, lease renewals, resyncs, steady probes.
    Upkeep,
}

/// Names one scheduled event, for [`Calendar::cancel`]. Never used twice in a run: once the event has happened or was
/// cancelled, its id is stale.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventId(NonZeroU64);

impl EventId {
    /// The low bits of the key: the sequence, which serves as the generation, above the slot.
    fn new(sequence: u64, slot: usize) -> EventId {
        EventId(NonZeroU64::new(sequence << SLOT_BITS | slot as u64).expect("sequences start at 1"))
    }

    fn of_key(key: u128) -> EventId {
        EventId(NonZeroU64::new(key as u64).expect("sequences start at 1"))
    }

    fn slot(self) -> usize {
        (self.0.get() as usize) & (SLOT_LIMIT - 1)
    }
}

/// One pending event and what is known about it.
#[derive(Clone, Debug)]
struct Pending<E> {
    id: EventId,
    nature: Nature,
    in_lane: bool,
    event: E,
}

/// The future event list of a run, generic over the event `E`, with the current instant.
#[derive(Clone, Debug)]
pub struct Calendar<E> {
    now: Time,
    heap: KeyHeap,
    lane: VecDeque<EventId>,
    /// The slab; free slots are listed in `vacant`.
    slots: Vec<Option<Pending<E>>>,
    vacant: Vec<u32>,
    sequence: u64,
    pending: usize,
    work_pending: usize,
    /// Keys in the heap whose events were cancelled.
    cancelled_in_heap: usize,
}

impl<E> Calendar<E> {
    /// An empty calendar whose clock stands at `start`, which must not be before the Unix epoch.
    pub fn new(start: Time) -> Calendar<E> {
        assert!(start.0 >= 0, "a run starts at or after the Unix epoch");
        Calendar {
            now: start,
            heap: KeyHeap::default(),
            lane: VecDeque::new(),
            slots: Vec::new(),
            vacant: Vec::new(),
            sequence: 0,
            pending: 0,
            work_pending: 0,
            cancelled_in_heap: 0,
        }
    }

    /// The current instant: that of the event popped last.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The number of pending events.
    pub fn len(&self) -> usize {
        self.pending
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// The number of pending events of nature [`Nature::Work`].
    pub fn work_pending(&self) -> usize {
        self.work_pending
    }

    /// The instant of the next event.
    pub fn peek_time(&self) -> Option<Time> {
        if self.lane.is_empty() { self.heap.min().map(time_of) } else { Some(self.now) }
    }

    /// Schedules an event; an instant in the past means now, after all that is already scheduled for now. O(log n).
    pub fn schedule(&mut self, at: Time, nature: Nature, event: E) -> EventId {
        self.sequence += 1;
        assert!(self.sequence < SEQUENCE_LIMIT, "a run has fewer than 2^40 events");
        let in_lane = at <= self.now;
        let id = self.occupy(nature, in_lane, event);
        if in_lane {
            self.lane.push_back(id);
        } else {
            self.heap.push(key_of(at, id));
        }
        self.pending += 1;
        self.work_pending += usize::from(nature == Nature::Work);
        id
    }

    /// Takes an event back before it happens; none if it already happened or was cancelled. O(1) amortised: its key stays
    /// behind, is skipped when it comes to the front, and is swept out once such keys are more than half of the heap.
    pub fn cancel(&mut self, id: EventId) -> Option<E> {
        let in_lane = self.slots.get(id.slot())?.as_ref().filter(|pending| pending.id == id)?.in_lane;
        let event = self.vacate(id);
        if in_lane {
            // No sweep here: the lane is empty again before the clock moves.
            self.skip_cancelled_in_lane();
        } else {
            self.cancelled_in_heap += 1;
            self.skip_cancelled_in_heap();
        }
        Some(event)
    }

    /// Takes the next event and moves the clock to its instant. O(log n).
    pub fn pop(&mut self) -> Option<(Time, E)> {
        // The front of the heap and of the lane are never cancelled events: whoever leaves one there removes it.
        match self.heap.min() {
            Some(key) if self.lane.is_empty() || time_of(key) == self.now => {
                self.heap.pop();
                self.now = time_of(key);
                let event = self.vacate(EventId::of_key(key));
                self.skip_cancelled_in_heap();
                Some((self.now, event))
            }
            _ => {
                let id = self.lane.pop_front()?;
                let event = self.vacate(id);
                self.skip_cancelled_in_lane();
                Some((self.now, event))
            }
        }
    }

    /// Stores a payload under the current sequence.
    fn occupy(&mut self, nature: Nature, in_lane: bool, event: E) -> EventId {
        let slot = self.vacant.pop().map_or(self.slots.len(), |slot| slot as usize);
        let id = EventId::new(self.sequence, slot);
        let pending = Some(Pending { id, nature, in_lane, event });
        if slot < self.slots.len() {
            self.slots[slot] = pending;
        } else {
            assert!(slot < SLOT_LIMIT, "fewer than 2^24 events are pending at once");
            self.slots.push(pending);
        }
        id
    }

    /// Takes the payload of a pending event and frees its slot.
    fn vacate(&mut self, id: EventId) -> E {
        let pending = self.slots[id.slot()].take().expect("the slot of a pending event is occupied");
        debug_assert!(pending.id == id, "a stale key was skipped");
        self.pending -= 1;
        self.work_pending -= usize::from(pending.nature == Nature::Work);
        self.vacant.push(id.slot() as u32);
        pending.event
    }

    /// Holds two promises whenever the heap has changed: its front is pending, and no more than half of it is cancelled.
    fn skip_cancelled_in_heap(&mut self) {
        while self.cancelled_in_heap > 0 {
            match self.heap.min() {
                Some(key) if !is_pending(&self.slots, EventId::of_key(key)) => {
                    self.heap.pop();
                    self.cancelled_in_heap -= 1;
                }
                _ => break,
            }
        }
        if self.cancelled_in_heap * 2 > self.heap.len() {
            let slots = &self.slots;
            self.heap.retain(|key| is_pending(slots, EventId::of_key(key)));
            self.cancelled_in_heap = 0;
        }
    }

    fn skip_cancelled_in_lane(&mut self) {
        while let Some(&id) = self.lane.front()
            && !is_pending(&self.slots, id)
        {
            self.lane.pop_front();
        }
    }
}

fn is_pending<E>(slots: &[Option<Pending<E>>], id: EventId) -> bool {
    slots[id.slot()].as_ref().is_some_and(|pending| pending.id == id)
}

fn key_of(at: Time, id: EventId) -> u128 {
    (at.0 as u128) << (SEQUENCE_BITS + SLOT_BITS) | u128::from(id.0.get())
}

fn time_of(key: u128) -> Time {
    Time((key >> (SEQUENCE_BITS + SLOT_BITS)) as i64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    /// The naive twin: a sorted map from (time, sequence).
    #[derive(Clone, Default)]
    struct Twin {
        now: i64,
        sequence: u64,
        pending: BTreeMap<(i64, u64), (u32, Nature)>,
    }

    impl Twin {
        fn schedule(&mut self, at: i64, nature: Nature, event: u32) -> (i64, u64) {
            self.sequence += 1;
            let key = (at.max(self.now), self.sequence);
            self.pending.insert(key, (event, nature));
            key
        }

        fn pop(&mut self) -> Option<(Time, u32)> {
            let ((at, _), (event, _)) = self.pending.pop_first()?;
            self.now = at;
            Some((Time(at), event))
        }

        fn work_pending(&self) -> usize {
            self.pending.values().filter(|(_, nature)| *nature == Nature::Work).count()
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Schedule { delta_ns: i64, nature: Nature },
        Cancel(usize),
        Pop,
        CloneAndDrain,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let nature = prop_oneof![Just(Nature::Work), Just(Nature::Backoff), Just(Nature::Upkeep)];
        // Deltas of a few ns make ties and events in the past common; cancels reach any id ever given, so stale ids too.
        let step = prop_oneof![
            6 => (-3_i64..8, nature).prop_map(|(delta_ns, nature)| Step::Schedule { delta_ns, nature }),
            3 => (0_usize..1_000).prop_map(Step::Cancel),
            3 => Just(Step::Pop),
            1 => Just(Step::CloneAndDrain),
        ];
        proptest::collection::vec(step, 0..250)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1_000))]
        #[test]
        fn the_calendar_agrees_with_its_naive_twin(steps in steps()) {
            let mut calendar = Calendar::new(Time(10));
            let mut twin = Twin { now: 10, ..Twin::default() };
            let mut ids = Vec::new();
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Schedule { delta_ns, nature } => {
                        let at = twin.now + delta_ns;
                        let event = number as u32;
                        ids.push((calendar.schedule(Time(at), nature, event), twin.schedule(at, nature, event)));
                    }
                    Step::Cancel(choice) if !ids.is_empty() => {
                        let (id, key) = ids[choice % ids.len()];
                        prop_assert_eq!(calendar.cancel(id), twin.pending.remove(&key).map(|(event, _)| event));
                    }
                    Step::Cancel(_) => {}
                    Step::Pop => prop_assert_eq!(calendar.pop(), twin.pop()),
                    Step::CloneAndDrain => {
                        let (mut calendar, mut twin) = (calendar.clone(), twin.clone());
                        while let Some(expected) = twin.pop() {
                            prop_assert_eq!(calendar.pop(), Some(expected));
                        }
                        prop_assert_eq!(calendar.pop(), None);
                    }
                }
                prop_assert_eq!(calendar.now(), Time(twin.now));
                prop_assert_eq!(calendar.len(), twin.pending.len());
                prop_assert_eq!(calendar.is_empty(), twin.pending.is_empty());
                prop_assert_eq!(calendar.work_pending(), twin.work_pending());
                prop_assert_eq!(calendar.peek_time(), twin.pending.keys().next().map(|(at, _)| Time(*at)));
                prop_assert!(calendar.cancelled_in_heap * 2 <= calendar.heap.len());
            }
        }
    }

    #[test]
    fn the_heap_of_this_instant_comes_before_the_lane() {
        let mut calendar = Calendar::new(Time(0));
        for event in ["first", "second"] {
            calendar.schedule(Time(5), Nature::Work, event);
        }
        assert_eq!(calendar.pop(), Some((Time(5), "first")));
        calendar.schedule(Time(5), Nature::Work, "third: now");
        calendar.schedule(Time(2), Nature::Work, "fourth: in the past, so now");
        let rest: Vec<_> = std::iter::from_fn(|| calendar.pop()).collect();
        assert_eq!(rest, [(Time(5), "second"), (Time(5), "third: now"), (Time(5), "fourth: in the past, so now")]);
    }

    #[test]
    fn a_stale_id_never_reaches_the_next_event_in_its_slot() {
        let mut calendar = Calendar::new(Time(0));
        let happened = calendar.schedule(Time(1), Nature::Work, 'a');
        assert_eq!(calendar.pop(), Some((Time(1), 'a')));
        let reused = calendar.schedule(Time(2), Nature::Work, 'b');
        assert_eq!(happened.slot(), reused.slot());
        assert_eq!(calendar.cancel(happened), None);
        assert_eq!(calendar.cancel(reused), Some('b'));
        assert_eq!(calendar.cancel(reused), None);
        assert_eq!((calendar.len(), calendar.work_pending(), calendar.peek_time()), (0, 0, None));
    }

    #[test]
    fn cancelled_keys_are_swept_out() {
        let mut calendar = Calendar::new(Time(0));
        let ids: Vec<_> = (0..1_000).map(|i| calendar.schedule(Time(1 + i), Nature::Upkeep, i)).collect();
        // 500 of 1,000 cancelled is not more than half; the 501st sweeps and leaves 499.
        for &id in &ids[400..900] {
            calendar.cancel(id);
        }
        assert_eq!(calendar.heap.len(), 1_000);
        calendar.cancel(ids[900]);
        assert_eq!((calendar.heap.len(), calendar.len()), (499, 499));
    }

    #[test]
    fn the_latest_instant_fits_a_key() {
        let mut calendar = Calendar::new(Time(0));
        calendar.schedule(Time::FAR_FUTURE, Nature::Upkeep, "last");
        calendar.schedule(Time(i64::MAX - 1), Nature::Upkeep, "last but one");
        assert_eq!(calendar.pop(), Some((Time(i64::MAX - 1), "last but one")));
        assert_eq!(calendar.pop(), Some((Time::FAR_FUTURE, "last")));
    }

    #[test]
    #[should_panic(expected = "fewer than 2^40 events")]
    fn the_sequence_limit_is_checked() {
        let mut calendar = Calendar::new(Time(0));
        calendar.sequence = SEQUENCE_LIMIT - 1;
        calendar.schedule(Time(1), Nature::Work, ());
    }

    #[test]
    fn an_optional_id_costs_no_more_than_an_id() {
        assert_eq!(size_of::<Option<EventId>>(), 8);
    }
}
