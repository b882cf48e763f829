import CloudCode
import JSON
import Limits
import Logging
import NIOCore
import Operations
import ParseModel

/// The messages between server and process: calls of cloud code, and its requests to the server.
extension NodeWorker {
    /// Calls the code.
    ///
    /// - Throws: `OpenCalls.Closed` if the process had already ended, `ParseError` 141 if it ends during the call, 116
    ///   if the message is too large for a process, or `CancellationError`.
    func call(_ kind: CallWriter.Kind, _ call: CloudCall) async throws -> JSONObject {
        try await HeavyWork.run(.parsing(call.size)) {
            let record = CallerRecord(of: call)
            return try await calls.exchange(
                call,
                send: { number in
                    let message = try self.checked(CallWriter.message(kind, number, call, record).serialized())
                    if let record {
                        try self.send(.call(number, message, isOrdered: true), naming: record)
                    } else {
                        self.send(.call(number, message))
                    }
                },
                giveUp: { self.send(.cancellation(of: $0)) })
        }
    }

    /// Throws 116 for a message above the limit, because it would end the process. Clients influence the size.
    private func checked(_ message: [UInt8]) throws(ParseError) -> [UInt8] {
        guard message.count <= settings.frameLimit else {
            throw ParseError(
                ParseError.objectTooLarge, "A message to cloud code can't exceed \(settings.frameLimit) bytes.")
        }
        return message
    }

    func send(_ message: JSONObject) { send(message.serialized()) }

    private func send(_ bytes: [UInt8]) { send(.plain(bytes)) }

    private func send(_ message: OutgoingMessage) {
        state.withLock { $0.channel }?.writeAndFlush(message, promise: nil)
    }

    private func send(_ call: OutgoingMessage, naming record: CallerRecord) throws(ParseError) {
        var message: [UInt8]?
        while !send(call, naming: record.name, message) { message = try checked(record.message) }
    }

    /// Sends the call. Returns false if the process lacks the record and `message`, which contains it, is nil.
    private func send(_ call: OutgoingMessage, naming name: Name, _ message: [UInt8]?) -> Bool {
        // Under the lock, because a call must not precede its record or follow its eviction.
        state.withLock { state in
            guard let channel = state.channel else { return true }
            guard let missing = state.records.missing(name, message) else { return false }
            for one in missing { channel.write(one, promise: nil) }
            channel.writeAndFlush(call, promise: nil)
            return true
        }
    }

    func handle(_ message: HostMessage) {
        switch message {
        case .connect: break
        case .hello(let offer):
            state.withLock { $0.offer = offer }
            started.set(.loaded)
        case .register(let offer):
            state.withLock { state in
                state.offer = offer
                sendOffer(of: &state)
            }
        case .app: state.withLock { $0.appListens = true }
        case .drained: state.withLock { $0.appListens = false }
        case .loading(let adapter): state.withLock { $0.loading = adapter.isEmpty ? nil : adapter }
        case .failed(let stack): started.set(.failed(stack))
        case .result(let id, let result):
            // A process that returns results is alive, even if it is too busy for pings.
            state.withLock { $0.missedPongs = 0 }
            calls.answer(id, result)
        case .log(let level, let text, let requestID):
            var metadata: Logger.Metadata = ["source": "cloud"]
            if let requestID { metadata["id"] = "\(requestID)" }
            logger.log(level: Self.level(level), "\(text)", metadata: metadata)
        case .progress(let call, let text): calls.progress(call, text)
        case .rest(let id, let request): perform(id, request)
        case .mail(let id, let mail): Task { await sendMail(id, mail) }
        case .pong(let lag):
            state.withLock { $0.missedPongs = 0 }
            if lag > 1000 {
                logger.warning("cloud code blocked its event loop", metadata: ["ms": "\(Int(min(lag, 1e9)))"])
            }
        }
    }

    private static func level(_ name: String) -> Logger.Level {
        switch name {
        case "error": .error
        case "warn": .warning
        case "verbose", "debug": .debug
        case "silly": .trace
        default: .info
        }
    }

    private func perform(_ id: Int, _ message: JSONObject) {
        let number = RestRequest.parentNumber(message)
        let parent = number.flatMap { calls.call($0) }
        let sender = number.map { calls.sender(of: $0) } ?? .server
        // The request queues on behalf of the original caller, and continues if that client disconnects.
        CallerPresence.$current.withValue(CallerPresence(sender: sender)) { perform(id, message, parent) }
    }

    private func perform(_ id: Int, _ message: JSONObject, _ parent: CloudCall?) {
        Task {
            guard let request = RestRequest.read(message, parent: parent) else {
                return answer(id, ["error": "Unknown request."])
            }
            let reply = await owner.perform(request)
            do throws(ParseError) {
                send(try checked(RestRequest.answer(id, reply)))
            } catch {
                let body: JSONValue = ["code": .number(Double(error.code)), "error": .string(error.message)]
                send(RestRequest.answer(id, InternalReply(status: 400, body: body.serialized())))
            }
        }
    }

    private func sendMail(_ id: Int, _ mail: JSONObject) async {
        do {
            if let sendMail = owner.sendMail {
                try await sendMail(mail)
            } else {
                logger.error("Failed to send email because no mail adapter is configured for Parse Server.")
            }
            answer(id, [:])
        } catch let error as ParseError {
            answer(id, ["code": .number(Double(error.code)), "error": .string(error.message)])
        } catch {
            answer(id, ["error": .string("\(error)")])
        }
    }

    private func answer(_ id: Int, _ fields: JSONObject) {
        let head: JSONObject = ["type": "answer", "id": .number(Double(id))]
        send(head.merging(fields) { $1 })
    }
}
