#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// A thread of the operating system, for what waits in system calls. Swift's own threads must not.
///
/// `@unchecked Sendable`: the handle is set once, before another thread sees it; some systems make it a pointer.
package final class OSThread: @unchecked Sendable {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let handle: pthread_t?

    /// Starts a thread; it ends when `body` returns. Unless joined, it must be detached.
    ///
    /// When the system gives no thread, `body` is not run and ``isRunning`` is false.
    package init(_ body: @escaping @Sendable () -> Void) {
        let argument = Unmanaged.passRetained(Body(body))
        #if canImport(Darwin)
            var thread: pthread_t?
            let status = pthread_create(&thread, nil, { OSThread.main($0) }, argument.toOpaque())
        #else
            var thread = pthread_t()
            let status = pthread_create(&thread, nil, { OSThread.main($0) }, argument.toOpaque())
        #endif
        if status != 0 { argument.release() }
        handle = status == 0 ? thread : nil
    }

    /// Whether the system gave a thread.
    package var isRunning: Bool { handle != nil }

    /// Waits for the end of the thread.
    package func join() { if let handle { pthread_join(handle, nil) } }

    /// Lets the thread end by itself.
    package func detach() { if let handle { pthread_detach(handle) } }

    private static func main(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        // Signals are for the threads of the program's own.
        var signals = sigset_t()
        sigfillset(&signals)
        pthread_sigmask(SIG_SETMASK, &signals, nil)
        if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
    }
}
