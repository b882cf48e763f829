import Encoding
import HTTP
import NIOCore
import ParseModel
import Platform
import ServerConfiguration

/// Error messages of commands.
package enum ErrorText {
    /// Returns an error's message for the operator, without the credentials of URIs.
    package static func of(_ error: any Error) -> String {
        let text =
            switch error {
            case let error as ConfigurationError: lines(error)
            case let error as ParseError: error.message
            case let error as HTTPError: error.message
            case let error as IOError: SystemError(error.errnoCode).description
            case let error as CocoaError: (error.filePath.map { "\($0): " } ?? "") + reason(error)
            case let error as POSIXError: SystemError(error.code.rawValue).description
            case let error as any CustomStringConvertible: error.description
            default: "The operation could not be completed. (\(type(of: error)))"
            }
        return Setting.withoutCredentials(text)
    }

    /// Returns the exit status for an error: 64 for wrong arguments, otherwise 1.
    package static func status(of error: any Error) -> Int32 {
        (error as? ConfigurationError)?.isUsage == true ? 64 : 1
    }

    /// Writes each line of a message to standard error after the program's name, without the credentials of URIs.
    package static func report(_ message: String) {
        let lines = Setting.withoutCredentials(message).split(separator: "\n").map { "roost: \($0)\n" }.joined()
        try? OpenFile.standardError.write(lines.utf8)
    }

    /// Removes the label of parse-server's texts, which is redundant after the program's name.
    private static func lines(_ error: ConfigurationError) -> String {
        error.message.split(separator: "\n").map { line in
            ["error: ", "ERROR: "].first { line.hasPrefix($0) }.map { String(line.dropFirst($0.count)) } ?? String(line)
        }.joined(separator: "\n")
    }

    /// Returns the reason why a file can't be used, without its path.
    static func reason(_ error: any Error) -> String {
        guard let error = error as? CocoaError else { return of(error) }
        switch error.code {
        case .fileNoSuchFile, .fileReadNoSuchFile: return SystemError(ENOENT).description
        case .fileReadNoPermission, .fileWriteNoPermission: return SystemError(EACCES).description
        case .fileWriteOutOfSpace: return SystemError(ENOSPC).description
        case .fileWriteFileExists: return SystemError(EEXIST).description
        case .fileReadInapplicableStringEncoding: return "it is not UTF-8"
        default:
            let cause = error.underlying as? POSIXError
            return cause.map { SystemError($0.code.rawValue).description } ?? "it can't be read or written"
        }
    }
}

/// A port that the server can't listen on, described for the operator.
struct ListenFailure: Error, CustomStringConvertible {
    let description: String

    /// - Parameter option: The option of the port: `port` or `metrics.port`.
    init(_ error: any Error, host: String, port: Int, option: String) {
        let isMain = option == "port"
        let hostOption = isMain ? "host" : "metrics.host"
        let name = isMain ? "Port \(port)" : "Port \(port) (\(option))"
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE:
            let advice =
                isMain ? "start with --port \(port < 65_535 ? port + 1 : port - 1)" : "choose another \(option)"
            description = "\(name) is in use. Stop the other program or \(advice)."
        case EADDRNOTAVAIL:
            description =
                "This computer doesn't have the address \(host). Set \(hostOption) to one of its addresses, or to 0.0.0.0 for "
                + "all of them."
        case EACCES:
            description = "This user may not listen on port \(port). Choose a port above 1023 for \(option)."
        default:
            description =
                error is SocketAddressError || error is SocketAddressError.UnknownHost
                ? "\(host) is not an address. Set \(hostOption) to an address of this computer, or to 0.0.0.0 for all of them."
                : "Can't listen on \(host), port \(port): \(ErrorText.of(error))"
        }
    }
}
