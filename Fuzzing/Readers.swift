import BSON
import Encoding
import Foundation
import JSON
import Limits
import NIOCore
import NIOEmbedded
import NIOWebSocket
import ParseModel
import Rules

@testable import HTTP

/// The readers of untrusted input. Values that can be written must be read back unchanged.
enum Readers {
    static let all: [String: @Sendable ([UInt8]) throws -> Void] = [
        "archive": Archives.read,
        "bson": Archives.bson,
        "cookie": cookie,
        "date": date,
        "filename": fileName,
        "filter": Filters.filter,
        "form": form,
        "json": json,
        "multipart": multipart,
        "operation": Filters.operation,
        "range": range,
        "regex": Filters.regex,
        "tar": Archives.tar,
        "websocket": webSocket,
        "zip": Archives.zipFile,
    ]

    private static func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

    /// The first line and the rest.
    static func halves(_ input: [UInt8]) -> (first: ArraySlice<UInt8>, rest: ArraySlice<UInt8>) {
        let end = input.firstIndex(of: UInt8(ascii: "\n")) ?? input.endIndex
        return (input[..<end], input[end...].dropFirst())
    }

    @Sendable private static func json(_ input: [UInt8]) throws {
        let value = try JSONValue(parsing: input, maximumDepth: JSONBody.maximumDepth)
        let again = try JSONValue(parsing: value.serialized())
        precondition(again == value)
        _ = value.containsNUL
        _ = try? JSONBody.parse(input, contentType: nil)
    }

    @Sendable private static func form(_ input: [UInt8]) throws {
        let type = "application/x-www-form-urlencoded"
        _ = try? JSONBody.parse(input, contentType: type)
        let text = text(input)
        let values = FormEncoding.values(text)
        _ = values.serialized()
        _ = RequestTarget(text, mount: "/parse")?.components.map { PercentEncoding.decode($0) }
        _ = MediaType(text)
    }

    @Sendable private static func multipart(_ input: [UInt8]) throws {
        let (type, body) = halves(input)
        _ = try MultipartForm(Array(body), contentType: text(type))
    }

    @Sendable private static func range(_ input: [UInt8]) throws {
        for size: Int64 in [0, 1, 1000, .max] {
            guard case .part(let part) = ByteRange(text(input), size: size) else { continue }
            precondition(!part.isEmpty && part.lowerBound >= 0 && part.upperBound <= size)
        }
    }

    @Sendable private static func cookie(_ input: [UInt8]) throws {
        let (name, field) = halves(input)
        let values = Cookies.values(of: text(name), in: text(field))
        precondition(values.reduce(0) { $0 + $1.utf8.count } <= text(field).utf8.count)
        _ = HeaderParameters(field)
    }

    @Sendable private static func date(_ input: [UInt8]) throws {
        if let date = ParseDate(iso: text(input)) { precondition(ParseDate(iso: date.iso) == date) }
        if input.count == 8 {
            let number = input.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            let date = ParseDate(milliseconds: Int64(bitPattern: number))
            precondition(date.iso.utf8.count >= 24)
            _ = HTTPDate.string(seconds: Int(date.milliseconds / 1000))
        }
        let relative: JSONObject = ["at": ["$lt": ["$relativeTime": .string(text(input))]]]
        _ = try FilterParser(isMaster: true, now: 1_700_000_000_000).parse(relative)
    }

    @Sendable private static func fileName(_ input: [UInt8]) throws {
        let (name, type) = halves(input)
        _ = try? FileNaming.directory(.string(text(name)), isMaster: true)
        _ = FormFile(path: text(name), bytes: [])
        let named = try FileNaming(
            name: text(name), contentType: type.isEmpty ? nil : text(type), allowedExtensions: ["^[a-z0-9]{1,5}$"])
        precondition(!named.name.utf8.contains(UInt8(ascii: "/")) && named.name.utf8.first != UInt8(ascii: "."))
    }

    /// The bytes of a connection after the upgrade, in pieces of the size in the first byte.
    @Sendable private static func webSocket(_ input: [UInt8]) throws {
        guard let first = input.first else { return }
        let channel = EmbeddedChannel()
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        let client = WebSocketClient(sender: Sender(address: "192.0.2.1"), isKnown: first & 1 == 1)
        let transferTimeout = TransferTimeout(limits: HTTPServer.Limits())
        let assembler = MessageAssembler(client, HeldInput(transferTimeout), transferTimeout)
        try channel.pipeline.syncOperations.addHandler(assembler)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        channel.read()
        var bytes = ByteBuffer(bytes: input.dropFirst())
        // Small pieces of long inputs would be slow.
        let size = max(Int(first) + 1, input.count / 1024)
        while let piece = bytes.readSlice(length: min(size, bytes.readableBytes)), piece.readableBytes > 0 {
            try channel.writeInbound(piece)
            while let frame = try channel.readInbound(as: WebSocketFrame.self) {
                precondition(frame.fin && frame.length <= MessageAssembler.largestMessage)
            }
        }
    }
}
