#if os(Linux)
    import Glibc

    /// A copy of this process from before it had threads, so that it needs next to no memory. It does one thing, as it is
    /// told over a socket, and ends when this process does.
    struct HelperProcess: Sendable {
        private let identifier: pid_t
        /// This process's end of the socket.
        let socket: Int32

        /// Starts one.
        ///
        /// To be called while there is no other thread: a copy has only the thread that made it, and whatever the others
        /// were in the middle of would stay as it was.
        ///
        /// - Parameter body: What it does, with its end of the socket.
        /// - Returns: nil when the system refuses.
        static func start(_ body: (Int32) -> Void) -> HelperProcess? {
            var ends: [Int32] = [-1, -1]
            guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
                return nil
            }
            let process = fork()
            if process == 0 {
                // Away from the terminal and its signals; and nobody shall wait for the end of what is open here.
                setsid()
                for descriptor in Int32(0)..<1024 where descriptor != ends[1] { close(descriptor) }
                body(ends[1])
                _exit(0)
            }
            close(ends[1])
            guard process > 0 else {
                close(ends[0])
                return nil
            }
            return HelperProcess(identifier: process, socket: ends[0])
        }

        /// Ends it, when it does not answer any more. Nobody else may use it then.
        func end() {
            close(socket)
            kill(identifier, SIGKILL)
            waitpid(identifier, nil, 0)
        }

        /// Lets the system forget it if it has ended.
        func reap() {
            waitpid(identifier, nil, WNOHANG)
        }
    }
#endif
