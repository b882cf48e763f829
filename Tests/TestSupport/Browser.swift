import Foundation
import JSON
import TestTools

/// A headless Chromium with one page, driven by `scripts/browser.py`.
public struct Browser: Sendable {
    private let commands: TestServer

    public struct Shown: Sendable {
        private let json: JSONValue

        fileprivate init(_ json: JSONValue) { self.json = json }

        public var url: String { json["url"]?.stringValue ?? "" }
        public var title: String { json["title"]?.stringValue ?? "" }
        public var language: String { json["language"]?.stringValue ?? "" }
        /// The page's name in its `meta` element.
        public var page: String { json["page"]?.stringValue ?? "" }
        public var text: String { json["text"]?.stringValue ?? "" }
        public var scripts: Double { json["scripts"]?.numberValue ?? -1 }
        /// Whether a script has set `window.ran` or opened a dialog.
        public var ranScript: Bool { json["ran"] != false || json["dialogs"] != 0 }
        public var inputs: JSONObject { json["inputs"]?.objectValue ?? [:] }
        public var background: String { json["background"]?.stringValue ?? "" }
        public var requests: [String] { json["requests"]?.arrayValue?.compactMap(\.stringValue) ?? [] }
        /// The `Referer` headers of the page's requests.
        public var referrers: [String] { json["referrers"]?.arrayValue?.compactMap(\.stringValue) ?? [] }
    }

    public struct Failure: Error, CustomStringConvertible {
        let text: String
        public var description: String { text }
    }

    public static func run<R: Sendable>(_ body: @escaping @Sendable (Browser) async throws -> R) async throws -> R {
        let folder = FileManager.default.temporaryDirectory.path + "/roost-browser-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        return try await HelperProgram.run([Checkout.path("scripts/browser.py"), folder], in: folder) { port in
            try await body(Browser(commands: TestServer(url: "http://127.0.0.1:\(port)", databaseURI: "")))
        }
    }

    private func send(_ command: JSONValue) async throws -> JSONValue {
        let answer = try await commands.send("POST", "/", command, as: .nobody).json
        if let problem = answer["problem"]?.stringValue { throw Failure(text: "\(command.text): \(problem)") }
        return answer
    }

    public func open(_ url: String) async throws -> Shown {
        Shown(try await send(["do": "open", "url": .string(url)]))
    }

    public func fill(_ selector: String, _ text: String) async throws {
        _ = try await send(["do": "fill", "selector": .string(selector), "text": .string(text)])
    }

    public func click(_ selector: String) async throws -> Shown {
        Shown(try await send(["do": "click", "selector": .string(selector)]))
    }

    public func isTooWide(for width: Int) async throws -> Bool {
        try await send(["do": "look", "width": .number(Double(width))])["isWide"] != false
    }
}
