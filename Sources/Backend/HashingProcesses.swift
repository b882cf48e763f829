#if os(Linux)
    import CScheduling
    import Glibc
    import NIOConcurrencyHelpers
    import Synchronization

    /// Processes that compute password hashes and nothing else, and give way to whoever wants their processors.
    ///
    /// A hash keeps a processor busy for tens of milliseconds. Threads that are nice do not do: Linux shares out
    /// processors among sessions first (autogroup), so that the hashes would count as much as all of a PostgreSQL process,
    /// which then waits. A session of its own can have little weight. And where there are no more processors than hashes,
    /// one is left to the other requests, if there are any, and the hash on the other makes pauses: PostgreSQL waits all
    /// the same where none is idle.
    public enum HashingProcesses {
        /// How many there are: as many hashes are computed at the same time.
        static let count = 2

        private static let idle = Mutex<[HelperProcess]>([])
        /// Held by the threads that ask for a hash, one after another, while there is other work.
        private static let turn = NIOLock()
        private static let use = ProcessorUse()

        /// Starts the processes. They end with this one.
        ///
        /// To be called once, while there is no other thread. Where it is not called, or the system refuses, threads of
        /// this process compute the hashes.
        public static func start() {
            for _ in 0..<count {
                guard let process = HelperProcess.start(run) else { return }
                idle.withLock { $0.append(process) }
            }
        }

        /// Has a hash computed, and waits for it.
        ///
        /// - Returns: `*` and more for what cannot be hashed, as `crypt` gives it; nil when no process is there to do it.
        static func crypt(_ password: String, setting: String) -> String? {
            let givesWay = Processors.count <= count && use.isBusy
            let turn = givesWay ? turn : nil
            turn?.lock()
            defer { turn?.unlock() }
            guard let process = idle.withLock({ $0.popLast() }) else { return nil }
            let channel = HashingChannel(socket: process.socket)
            guard channel.send([givesWay ? 1 : 0]), channel.send(Array(password.utf8)),
                channel.send(Array(setting.utf8)), let hash = channel.receive()
            else {
                // It was killed. The others, or threads, do without it.
                process.end()
                return nil
            }
            idle.withLock { $0.append(process) }
            return String(decoding: hash, as: UTF8.self)
        }

        /// What a process does, until the other end of its socket is closed.
        private static func run(on socket: Int32) {
            _ = take_little_weight(getpid())
            let channel = HashingChannel(socket: socket)
            while let givesWay = channel.receive(), let password = channel.receive(), let setting = channel.receive() {
                let hash = Pauses.during(givesWay == [1]) {
                    Passwords.cryptHere(
                        String(decoding: password, as: UTF8.self), setting: String(decoding: setting, as: UTF8.self))
                }
                guard channel.send(Array((hash ?? "*").utf8)) else { return }
            }
        }
    }
#endif
