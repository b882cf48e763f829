import HTTP
import Logging
import NIOPosix
import ServiceLifecycle
import UnixSignals

/// Reads the certificate of the server anew at each SIGHUP, which the program that renews it sends.
struct CertificateReload: Service {
    let certificate: ServerCertificate
    let logger: Logger

    func run() async {
        for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
            do {
                // Files are read where no connection waits for it.
                try await NIOThreadPool.singleton.runIfActive { try certificate.reload() }
                logger.notice("the certificate was read anew")
                if let warning = certificate.warning { logger.warning("\(warning)") }
            } catch {
                logger.error("the certificate stays as it was", metadata: ["reason": "\(error)"])
            }
        }
    }
}
