//! The simulation engine: the calendar (future event list) and keyed random draws. Knows no Kubernetes.
