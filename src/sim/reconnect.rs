//! A process' connections break and go to another API server: to one whose watch cache lags, and home again.

use crate::apiserver::WatchId;
use crate::faults::Reconnect;
use crate::model::{Cause, Kind, RecordId};

use super::event::ProcessIndex;
use super::world::World;

impl World {
    /// The fault begins: its processes find a server that lags.
    pub(super) fn reconnects(&mut self, fault: usize, of: &Reconnect, record: RecordId) {
        let meant = self.addressed(&of.of);
        self.note_streams(fault, &meant, None);
        let now = self.calendar.now();
        let server = self.servers.start_another(&self.plan.api_server, of.lag, now);
        self.strikes.lagging.push((fault, server));
        for process in meant {
            self.servers.connect(process, server);
            self.connections_break(process, of.resume, record);
        }
    }

    /// The fault is over: they have their own server again, and go on from the last version they saw.
    pub(super) fn reconnects_home(&mut self, fault: usize, record: RecordId) {
        // The last: a fault that repeats has found another one each time.
        let lagging = self.strikes.lagging.iter().rfind(|(of, _)| *of == fault).map(|(_, server)| *server);
        for process in 0..self.processes.len() {
            if Some(self.servers.of(process)) == lagging {
                self.servers.connect_home(process);
                self.connections_break(process, true, record);
            }
        }
    }

    /// Open streams end at once, with whatever was on its way. Informers that wait or have asked for something meanwhile
    /// go on as they are: they have no stream to lose.
    fn connections_break(&mut self, process: ProcessIndex, resume: bool, cause: Cause) {
        let informers = self.processes[process].informers.iter();
        let open = informers.filter(|informer| informer.reflector().is_streaming());
        let open: Vec<(Kind, Option<u64>)> = open.map(|informer| (informer.kind, informer.stream)).collect();
        for (kind, stream) in open {
            if let Some(stream) = stream {
                self.api.detach_watch(WatchId(stream));
            }
            if resume {
                self.stream_ended(process, kind, None, cause);
                continue;
            }
            let (informer, _) = self.informer_and_draws(process, kind);
            informer.stream = None;
            let ask = informer.restart_from_anything();
            self.ask(process, kind, ask, cause);
        }
    }
}
