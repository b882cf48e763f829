#if os(Linux)
    import CScheduling
    import Glibc
    import Synchronization

    /// Has the kernel look twice every millisecond who is next on each processor, while the database has long work.
    ///
    /// Linux looks at the ticks of its clock, up to 10 ms apart, whether a process that keeps a processor busy, such as
    /// PostgreSQL with an aggregation, has had its turn. Whatever a request needs there, a thread of this server or another
    /// process of PostgreSQL, waits for that. Somebody who sleeps most of the time is let in at once, and when he sleeps
    /// again the kernel chooses anew. That is all these processes do, one on each processor, each in a session of its own,
    /// since the kernel divides processors among sessions first.
    ///
    /// With more than two processors there is one for whoever waits.
    public enum Metronome {
        /// Nanoseconds between two beats.
        private static let interval = 500_000
        /// With more processors than this there are none.
        private static let mostProcessors = 2
        private static let begin: UInt8 = 1
        private static let end: UInt8 = 0

        private static let processes = Mutex<[HelperProcess]>([])

        /// Starts the processes, where they are of use. They end with this one.
        ///
        /// To be called once, while there is no other thread.
        public static func start() {
            var processors = [UInt32](repeating: 0, count: mostProcessors)
            let count = Int(usable_processors(&processors, Int32(mostProcessors)))
            guard count <= mostProcessors else { return }
            for processor in processors.prefix(count) {
                guard let process = HelperProcess.start({ run(on: processor, $0) }) else { return }
                processes.withLock { $0.append(process) }
            }
        }

        /// Runs something that has the database work for long.
        static func during<R>(_ body: () async throws -> R) async rethrows -> R {
            tell(begin)
            defer { tell(end) }
            return try await body()
        }

        private static func tell(_ word: UInt8) {
            var word = word
            for process in processes.withLock({ $0 }) {
                // Who was killed is done without. The socket stays open: others may be about to use it.
                if send(process.socket, &word, 1, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) < 0 {
                    process.reap()
                }
            }
        }

        /// What a process does, until the other end of its socket is closed.
        private static func run(on processor: UInt32, _ socket: Int32) {
            guard stay_on_processor(processor) != 0 else { return }
            _ = take_short_turns()
            var uses = 0
            var words = [UInt8](repeating: 0, count: 64)
            while true {
                let count = recv(socket, &words, words.count, uses > 0 ? Int32(MSG_DONTWAIT) : 0)
                if count > 0 {
                    for word in words.prefix(count) { uses += word == begin ? 1 : -1 }
                } else if count == 0 || (errno != EAGAIN && errno != EINTR) {
                    return
                }
                if uses > 0 {
                    var pause = timespec(tv_sec: 0, tv_nsec: interval)
                    nanosleep(&pause, nil)
                }
            }
        }
    }
#endif
