import Platform

/// A thread of the operating system, for blocking calls and long work, which must not run on Swift's own threads.
///
/// `@unchecked Sendable` is safe: the handle, a pointer on some systems, is set once before other threads see it.
package final class OSThread: @unchecked Sendable {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let handle: pthread_t?

    /// Starts a thread, which ends when `body` returns. It must be joined or detached.
    ///
    /// If the system can't create a thread, `body` isn't run and ``isRunning`` is false.
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

    /// Whether the thread was created.
    package var isRunning: Bool { handle != nil }

    package func join() { if let handle { pthread_join(handle, nil) } }

    /// Releases the thread's resources when it ends.
    package func detach() { if let handle { pthread_detach(handle) } }

    private static func main(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        // Other threads handle the signals.
        var signals = sigset_t()
        sigfillset(&signals)
        pthread_sigmask(SIG_SETMASK, &signals, nil)
        if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
    }
}
