import CCurl
import Encoding
import NIOPosix
import Operations
import Outgoing
import Platform
import ServerConfiguration
import Synchronization

/// Sends emails over SMTP with libcurl, using TLS from the start or once the server offers it.
///
/// Each email has its own connection and blocks a thread until the server responds.
struct SMTPTransport: MailTransport {
    private let server: Configuration.SMTP
    /// A PEM file of additional trusted certificates.
    private let trustedCertificates: String?
    private let login: Login
    /// Separate threads, so waiting for mail servers blocks no other work.
    private static let threads = {
        let threads = NIOThreadPool(numberOfThreads: MailQueue.atOnce)
        threads.start()
        return threads
    }()

    /// The time limit for one email, in seconds.
    static let timeLimit = 30
    /// The time limit for connecting, including TLS, greeting and login, in seconds.
    private static let connectLimit = 10
    /// The maximum time without progress before the server has the whole email.
    private static let patience = Duration.seconds(10)
    /// The time limit for the response to the whole email after the caller has stopped waiting.
    private static let lastPatience = Duration.seconds(10)
    /// The time limit for the response to QUIT.
    private static let farewellPatience = Duration.seconds(5)

    /// - Parameter caller: Creates the HTTP client, if access tokens must be fetched.
    init(
        _ server: Configuration.SMTP, trustedCertificates: String?, _ caller: () throws -> HTTPCaller
    ) rethrows {
        self.server = server
        self.trustedCertificates = trustedCertificates
        switch server.login {
        case nil: login = .none
        case .password(let user, let password)?:
            login = .fixed(Credentials(user: user, secret: password, isToken: false))
        case .token(let user, .fixed(let token))?:
            login = .fixed(Credentials(user: user, secret: token, isToken: true))
        case .token(let user, .refreshed(let refresh))?:
            let caller = try caller()
            login = .refreshed(user: user, AccessToken { try await MailAccessTokens.fetch(refresh, caller) })
        }
    }

    func send(_ message: MailMessage) async throws -> String {
        let recipients = message.recipients.compactMap { MailAddress($0)?.address }
        guard let sender = MailAddress(message.sender), recipients.count == message.recipients.count,
            let bytes = MIMEMessage.bytes(message, date: Date(), id: Identifiers.hexadecimal(32))
        else { throw MailFailure.badAddress }
        let credentials = try await credentials()
        let exchange = Exchange()
        let outcome = try await withTaskCancellationHandler {
            try await Self.threads.runIfActive {
                transfer(bytes, from: sender.address, to: recipients, credentials, exchange)
            }
        } onCancel: {
            exchange.isGivenUp.store(true, ordering: .relaxed)
        }
        guard outcome.code != CURLE_OK else { return outcome.answer }
        guard outcome.code != CURLE_ABORTED_BY_CALLBACK else { throw CancellationError() }
        if outcome.code == CURLE_LOGIN_DENIED, let credentials, case .refreshed(_, let token) = login {
            await token.forget(credentials.secret)
        }
        // A rejected recipient or content is final. The operator can fix a rejected sender, server or login.
        let isFinal =
            (550...559).contains(outcome.status)
            && (outcome.command == .recipient || (outcome.isWhole && outcome.command == .content))
        throw MailFailure(
            reason: Self.reason(outcome, credentials), isFinal: isFinal, answer: outcome.answer,
            isOpen: outcome.isWhole && outcome.status < 400)
    }

    private static func reason(_ outcome: Outcome, _ credentials: Credentials?) -> String {
        if outcome.code == CURLE_LOGIN_DENIED, let credentials {
            let kind = credentials.isToken ? "access token" : "password"
            // A status below 300 means that the server doesn't support this login and hasn't rejected any credentials.
            return outcome.status < 300
                ? "the server doesn't support log-in by \(kind)" : "the server refused the \(kind) (\(outcome.status))"
        }
        return outcome.status > 0 && outcome.code != CURLE_OPERATION_TIMEDOUT
            ? "the server replied \(outcome.status)" : outcome.error
    }

    private enum Login: Sendable {
        case none
        case fixed(Credentials)
        case refreshed(user: String, AccessToken)
    }

    private struct Credentials: Sendable {
        var user: String
        var secret: String
        var isToken: Bool
    }

    private func credentials() async throws -> Credentials? {
        switch login {
        case .none: nil
        case .fixed(let credentials): credentials
        case .refreshed(let user, let token): Credentials(user: user, secret: try await token.text(), isToken: true)
        }
    }

    private struct Outcome: Sendable {
        var code: CURLcode
        var status = 0
        var error: String
        /// The last line received from the server before QUIT.
        var answer = ""
        /// The last command sent to the server, except QUIT.
        var command = Command.other
        /// Whether the whole email was sent.
        var isWhole = false
    }

    /// The SMTP commands whose rejections are distinguished.
    private enum Command {
        case recipient
        case content
        case other
    }

    // Unsafe: libcurl is C. Everything passed to it outlives the transfer, and no pointer leaves this function.
    private func transfer(
        _ message: [UInt8], from sender: String, to recipients: [String], _ credentials: Credentials?,
        _ exchange: Exchange
    ) -> Outcome {
        guard let handle = curl_easy_init() else { return Outcome(code: CURLE_OUT_OF_MEMORY, error: "out of memory") }
        defer { curl_easy_cleanup(handle) }
        var list: UnsafeMutablePointer<curl_slist>?
        for recipient in recipients { list = curl_slist_append(list, "<\(recipient)>") }
        defer { curl_slist_free_all(list) }
        let scheme = server.isSecure ? "smtps" : "smtp"
        let host = server.host.utf8.contains(UInt8(ascii: ":")) ? "[\(server.host)]" : server.host
        let name = server.clientName.map { "/\(PercentEncoding.encode($0))" } ?? ""
        _ = curl_easy_set_text(handle, CURLOPT_URL, "\(scheme)://\(host):\(server.port)\(name)")
        if let trustedCertificates { _ = curl_easy_set_text(handle, CURLOPT_CAINFO, trustedCertificates) }
        _ = curl_easy_set_text(handle, CURLOPT_PROTOCOLS_STR, "smtp,smtps")
        _ = curl_easy_set_number(handle, CURLOPT_NOSIGNAL, 1)
        _ = curl_easy_set_number(handle, CURLOPT_CONNECTTIMEOUT, Self.connectLimit)
        _ = curl_easy_set_number(handle, CURLOPT_TIMEOUT, Self.timeLimit)
        // Credentials are never sent over an unencrypted connection.
        let security = credentials == nil ? CURLUSESSL_TRY : CURLUSESSL_ALL
        _ = curl_easy_set_number(handle, CURLOPT_USE_SSL, Int(security.rawValue))
        if let credentials {
            _ = curl_easy_set_text(handle, CURLOPT_USERNAME, credentials.user)
            if credentials.isToken {
                _ = curl_easy_set_text(handle, CURLOPT_XOAUTH2_BEARER, credentials.secret)
                _ = curl_easy_set_text(handle, CURLOPT_LOGIN_OPTIONS, "AUTH=OAUTHBEARER;AUTH=XOAUTH2")
                // Sends the token with the AUTH command, as Google and Microsoft document it.
                _ = curl_easy_set_number(handle, CURLOPT_SASL_IR, 1)
            } else {
                _ = curl_easy_set_text(handle, CURLOPT_PASSWORD, credentials.secret)
            }
        }
        _ = curl_easy_set_text(handle, CURLOPT_MAIL_FROM, "<\(sender)>")
        _ = curl_easy_set_list(handle, CURLOPT_MAIL_RCPT, list)
        _ = curl_easy_set_number(handle, CURLOPT_UPLOAD, 1)
        // libcurl calls the progress function about once a second and when data arrives, but after QUIT only if the
        // connection isn't reused.
        _ = curl_easy_set_number(handle, CURLOPT_FORBID_REUSE, 1)
        _ = curl_easy_set_number(handle, CURLOPT_NOPROGRESS, 0)
        _ = curl_easy_set_pointer(handle, CURLOPT_XFERINFODATA, Unmanaged.passUnretained(exchange).toOpaque())
        _ = curl_easy_set_progress(handle) { exchange, _, _, _, _ in
            guard let exchange else { return 0 }
            let state = Unmanaged<Exchange>.fromOpaque(exchange).takeUnretainedValue()
            return state.isBrokenOff || state.isSilent ? 1 : 0
        }
        _ = curl_easy_set_answer(
            handle,
            { bytes, size, count, exchange in
                guard let bytes, let exchange else { return 0 }
                let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                Unmanaged<Exchange>.fromOpaque(exchange).takeUnretainedValue().recordProgress {
                    // The response to QUIT must not replace the rejection before it.
                    if !$0.isLeaving { $0.line = String(decoding: line.prefix(1000), as: UTF8.self) }
                }
                return size * count
            }, Unmanaged.passUnretained(exchange).toOpaque())
        _ = curl_easy_set_observer(
            handle,
            { handle, kind, bytes, count, exchange in
                // Reads only the command, because a secret may follow it.
                guard kind == CURLINFO_HEADER_OUT, let bytes, let exchange else { return 0 }
                let word = UnsafeRawBufferPointer(start: bytes, count: min(count, 4))
                let command: Command =
                    word.elementsEqual("RCPT".utf8) ? .recipient : word.elementsEqual("DATA".utf8) ? .content : .other
                let isLeaving = word.elementsEqual("QUIT".utf8)
                var status = 0
                if isLeaving { _ = curl_easy_get_number(handle, CURLINFO_RESPONSE_CODE, &status) }
                Unmanaged<Exchange>.fromOpaque(exchange).takeUnretainedValue().recordProgress {
                    if isLeaving { ($0.isLeaving, $0.status) = (true, status) } else { $0.command = command }
                }
                return 0
            }, Unmanaged.passUnretained(exchange).toOpaque())
        exchange.recordProgress { _ in }
        return message.withUnsafeBytes { bytes in
            var source = Source(rest: bytes, exchange: exchange)
            return withUnsafeMutablePointer(to: &source) { source in
                _ = curl_easy_set_pointer(handle, CURLOPT_READDATA, source)
                _ = curl_easy_set_reader(handle) { target, size, count, source in
                    guard let target, let source = source?.assumingMemoryBound(to: Source.self) else { return 0 }
                    return source.pointee.read(into: target, limit: size * count)
                }
                var code = curl_easy_perform(handle)
                if code == CURLE_ABORTED_BY_CALLBACK, !exchange.isBrokenOff {
                    code = CURLE_OPERATION_TIMEDOUT
                }
                let progress = exchange.progress
                var status = progress.status
                if !progress.isLeaving { _ = curl_easy_get_number(handle, CURLINFO_RESPONSE_CODE, &status) }
                return Outcome(
                    code: code, status: status, error: String(cString: curl_easy_strerror(code)),
                    answer: MIMEMessage.line(Self.readable(progress.line)), command: progress.command,
                    isWhole: progress.isWhole)
            }
        }
    }

    /// Returns a server's line as text. Decodes the challenge of a rejected token from base64.
    private static func readable(_ line: String) -> String {
        let text = line.filter { !$0.isNewline }
        guard text.hasPrefix("334 "), let challenge = Data(base64Encoded: String(text.dropFirst(4))) else {
            return text
        }
        return "334 " + String(decoding: challenge, as: UTF8.self)
    }

    /// The state of the SMTP dialog, shared by libcurl's callbacks and the caller.
    private final class Exchange: Sendable {
        struct Progress {
            /// The last line received from the server before QUIT.
            var line = ""
            /// The last command sent to the server, except QUIT.
            var command = Command.other
            var isWhole = false
            var isLeaving = false
            /// The status of the last response before QUIT.
            var status = 0
            fileprivate var latest = ContinuousClock.now
        }

        /// Whether the caller has stopped waiting.
        let isGivenUp = Atomic(false)
        private let state = Mutex(Progress())

        var progress: Progress { state.withLock { $0 } }

        /// Changes the state and restarts the time limit for silence.
        func recordProgress(_ change: (inout Progress) -> Void) {
            state.withLock { progress in
                change(&progress)
                progress.latest = .now
            }
        }

        /// Whether to abort because the caller has stopped waiting. False if the server has the whole email, which
        /// would otherwise be sent twice.
        var isBrokenOff: Bool { isGivenUp.load(ordering: .relaxed) && !progress.isWhole }

        /// Whether the server has been silent for too long. A server that has the whole email may use the remaining
        /// time, for example to scan for viruses, because the email must not be sent twice.
        var isSilent: Bool {
            let progress = progress
            let silence = ContinuousClock.now - progress.latest
            if progress.isLeaving { return silence > SMTPTransport.farewellPatience }
            if progress.isWhole, isGivenUp.load(ordering: .relaxed) { return silence > SMTPTransport.lastPatience }
            return !progress.isWhole && silence > SMTPTransport.patience
        }
    }

    private struct Source {
        var rest: UnsafeRawBufferPointer
        let exchange: Exchange

        mutating func read(into target: UnsafeMutablePointer<CChar>, limit: Int) -> Int {
            let count = min(limit, rest.count)
            UnsafeMutableRawBufferPointer(start: target, count: count).copyBytes(from: rest.prefix(count))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            exchange.recordProgress { $0.isWhole = rest.isEmpty }
            return count
        }
    }
}
