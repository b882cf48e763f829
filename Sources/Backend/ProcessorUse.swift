#if os(Linux)
    import Glibc
    import Synchronization

    /// How much of a processor this process itself takes, as measured every now and then.
    struct ProcessorUse: ~Copyable {
        /// Nanoseconds between two measurements at least.
        private static let interval: UInt64 = 50_000_000
        /// The share of one processor above which the process counts as busy.
        private static let busyShare = 0.25

        private struct Sample {
            var time: UInt64
            var used: UInt64
            var isBusy = false
        }

        private let last = Mutex(Sample(time: 0, used: 0))

        /// Whether there was work to speak of, of late.
        var isBusy: Bool {
            last.withLock { sample in
                let time = Self.nanoseconds(CLOCK_MONOTONIC)
                if time - sample.time >= Self.interval {
                    let used = Self.nanoseconds(CLOCK_PROCESS_CPUTIME_ID)
                    let share = Double(used - sample.used) / Double(time - sample.time)
                    sample = Sample(time: time, used: used, isBusy: share > Self.busyShare)
                }
                return sample.isBusy
            }
        }

        /// What a clock of the system shows.
        static func nanoseconds(_ clock: clockid_t) -> UInt64 {
            var time = timespec()
            clock_gettime(clock, &time)
            return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        }
    }
#endif
