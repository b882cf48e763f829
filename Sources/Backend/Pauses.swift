#if os(Linux)
    import Glibc
    import Synchronization

    /// Short pauses in long work of a process that has one thread, so that others find its processor free soon.
    ///
    /// Linux looks at the ticks of its clock only, up to 10 ms apart, whether whoever keeps a processor busy has had his
    /// turn, however little weight he has. Requests, which wake one short work after the other, would wait for ticks again
    /// and again.
    enum Pauses {
        /// Nanoseconds of work between two pauses.
        private static let work: UInt64 = 200_000
        /// Nanoseconds of a pause; the system makes it up to 50,000 longer.
        private static let pause = 50_000
        /// The processor time of the process at the end of the last pause.
        private static let worked = Atomic<UInt64>(0)

        /// Runs something, with pauses if they are wanted.
        static func during<R>(_ wanted: Bool, _ body: () -> R) -> R {
            guard wanted else { return body() }
            var action = sigaction()
            action.__sigaction_handler.sa_handler = { _ in Pauses.takeOne() }
            action.sa_flags = Int32(SA_RESTART)
            sigaction(SIGALRM, &action, nil)
            worked.store(ProcessorUse.nanoseconds(CLOCK_PROCESS_CPUTIME_ID), ordering: .relaxed)
            setTimer(work)
            defer { setTimer(0) }
            return body()
        }

        /// What the timer's signal does. It calls nothing but the system, since it may come in the middle of anything.
        private static func takeOne() {
            let error = errno
            let time = ProcessorUse.nanoseconds(CLOCK_PROCESS_CPUTIME_ID)
            // Whoever had to wait for a processor has not worked, and would never get on.
            let left = work - min(work, time - worked.load(ordering: .relaxed))
            if left < work / 4 {
                var length = timespec(tv_sec: 0, tv_nsec: pause)
                nanosleep(&length, nil)
                worked.store(ProcessorUse.nanoseconds(CLOCK_PROCESS_CPUTIME_ID), ordering: .relaxed)
                setTimer(work)
            } else {
                setTimer(left)
            }
            errno = error
        }

        private static func setTimer(_ nanoseconds: UInt64) {
            var timer = itimerval()
            timer.it_value.tv_usec = Int(nanoseconds / 1000)
            setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &timer, nil)
        }
    }
#endif
