import NIOCore
import NIOSSL

extension Channel {
    /// Ends a connection whose client does not do its part. A close in order would have TLS wait for the client once
    /// more, with everything that the client has not read.
    func abort() {
        eventLoop.execute { [self] in
            if let security = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
                security.close(promise: nil)
            } else {
                close(promise: nil)
            }
        }
    }
}
