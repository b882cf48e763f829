#if os(Linux)
    import Glibc
    import NIOConcurrencyHelpers
    import NIOCore
    import Synchronization

    /// Processes that compute password hashes and nothing else, and give way to whoever wants their processors.
    ///
    /// A hash keeps a processor busy for tens of milliseconds. Threads that are nice do not do: Linux shares out
    /// processors among sessions first (autogroup), so that the hashes would count as much as all of a PostgreSQL process,
    /// which then waits. A session of its own can have little weight. And where there are no more processors than hashes,
    /// one is left to the other requests, if there are any: PostgreSQL waits all the same where none is idle.
    ///
    /// They are copies of this process from before it had threads, so that they need next to no memory.
    public enum HashingProcesses {
        /// How many there are: as many hashes are computed at the same time.
        static let count = 2

        private struct Helper: Sendable {
            let process: pid_t
            let socket: Int32
        }

        private static let idle = Mutex<[Helper]>([])
        /// Held by the threads that ask for a hash, one after another, while there is other work.
        private static let turn = NIOLock()
        private static let use = ProcessorUse()

        /// Starts the processes. They end with this one.
        ///
        /// To be called once, while there is no other thread: a copy has only the thread that made it, and whatever the
        /// others were in the middle of would stay as it was. Where it is not called, or the system refuses, threads of this
        /// process compute the hashes.
        public static func start() {
            for _ in 0..<count {
                var ends: [Int32] = [-1, -1]
                guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
                    return
                }
                let process = fork()
                if process == 0 { run(on: ends[1]) }
                close(ends[1])
                guard process > 0 else {
                    close(ends[0])
                    return
                }
                idle.withLock { $0.append(Helper(process: process, socket: ends[0])) }
            }
        }

        /// Has a hash computed, and waits for it.
        ///
        /// - Returns: `*` and more for what cannot be hashed, as `crypt` gives it; nil when no process is there to do it.
        static func crypt(_ password: String, setting: String) -> String? {
            let turn = System.coreCount <= count && use.isBusy ? turn : nil
            turn?.lock()
            defer { turn?.unlock() }
            guard let helper = idle.withLock({ $0.popLast() }) else { return nil }
            let channel = HashingChannel(socket: helper.socket)
            guard channel.send(Array(password.utf8)), channel.send(Array(setting.utf8)), let hash = channel.receive()
            else {
                // It was killed. The others, or threads, do without it.
                close(helper.socket)
                waitpid(helper.process, nil, WNOHANG)
                return nil
            }
            idle.withLock { $0.append(helper) }
            return String(decoding: hash, as: UTF8.self)
        }

        /// What a process does, until the other end of its socket is closed.
        private static func run(on socket: Int32) -> Never {
            // Away from the terminal and its signals; and nobody shall wait for the end of what is open here.
            setsid()
            for descriptor in Int32(0)..<1024 where descriptor != socket { close(descriptor) }
            giveWay()
            let channel = HashingChannel(socket: socket)
            while let password = channel.receive(), let setting = channel.receive() {
                let hash = Passwords.cryptHere(
                    String(decoding: password, as: UTF8.self), setting: String(decoding: setting, as: UTF8.self))
                guard channel.send(Array((hash ?? "*").utf8)) else { break }
            }
            _exit(0)
        }

        /// About a tenth of a processor stays for hashes when all are busy.
        private static func giveWay() {
            _ = nice(10)
            let group = open("/proc/self/autogroup", O_WRONLY)
            guard group >= 0 else { return }
            write(group, "10", 2)
            close(group)
        }
    }

    /// Messages over a socket, each with its length before it.
    private struct HashingChannel {
        let socket: Int32

        /// False when the other end is gone.
        func send(_ message: [UInt8]) -> Bool {
            var rest = withUnsafeBytes(of: UInt32(message.count)) { Array($0) + message }[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { return false }
            }
            return true
        }

        /// nil when the other end is gone.
        func receive() -> [UInt8]? {
            guard let head = receive(4) else { return nil }
            return receive(Int(head.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }))
        }

        private func receive(_ count: Int) -> [UInt8]? {
            var message = [UInt8](repeating: 0, count: count)
            var received = 0
            while received < count {
                let more = message.withUnsafeMutableBytes {
                    read(socket, $0.baseAddress.map { $0 + received }, count - received)
                }
                if more > 0 { received += more } else if more == 0 || errno != EINTR { return nil }
            }
            return message
        }
    }
#endif
