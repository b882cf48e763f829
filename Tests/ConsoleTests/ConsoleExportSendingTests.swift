import Console
import Testing

@Suite("Aborted export downloads")
struct ConsoleExportSendingTests {
    private static func item(_ id: String) throws -> ConsoleExports.Item {
        let wish = try ExportWish(["className": "Song", "format": "json"])
        return ConsoleExports.Item(id: id, secret: "secret \(id)", token: [1], wish: wish, total: 1)
    }

    @Test("An export fails if the browser disconnects before the first byte, and frees its slot")
    func left() throws {
        let exports = ConsoleExports()
        for number in 0..<20 {
            let id = "\(number)"
            try exports.add(Self.item(id))
            _ = try #require(exports.beginDownload("secret \(id)"))
            do {
                let sending = ConsoleExportSending(id, of: exports)
                #expect(try exports.item(id, of: [1]).state == .running)
                _ = consume sending
            }
            #expect(try exports.item(id, of: [1]).state == .failed)
        }
    }

    @Test("A finished export stays finished when its sender is released")
    func done() throws {
        let exports = ConsoleExports()
        try exports.add(Self.item("a"))
        _ = exports.beginDownload("secret a")
        do {
            let sending = ConsoleExportSending("a", of: exports)
            exports.end("a", .done)
            _ = consume sending
        }
        #expect(try exports.item("a", of: [1]).state == .done)
    }
}
