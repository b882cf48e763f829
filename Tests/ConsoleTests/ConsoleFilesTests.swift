import Console
import Foundation
import TestTools
import Testing

@Suite("Console files")
struct ConsoleFilesTests {
    @Test("The binary contains all console files and documents, with comments removed from code")
    func embedded() throws {
        let folder = Checkout.path("Sources/Features/CConsole/files")
        let found = try #require(FileManager.default.enumerator(atPath: folder)).allObjects.compactMap { $0 as? String }
        let files = found.filter { name in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: "\(folder)/\(name)", isDirectory: &isFolder)
                && !isFolder.boolValue && !name.hasPrefix(".")
        }
        let documents = ConsoleFiles.numbers.keys.filter { $0.hasPrefix("docs/") }
        #expect(Set(ConsoleFiles.numbers.keys) == Set(files + documents), "run scripts/embed_console.sh")
        let site = ConsoleFiles(path: "/console", folder: nil)
        for name in files + documents where name != "index.html" {
            let reply = try #require(site.reply(name[...], acceptsGzip: false))
            guard case .json(let bytes) = reply.body else { throw CocoaError(.fileReadUnknown) }
            let source = name.hasPrefix("docs/") ? Checkout.path(name) : "\(folder)/\(name)"
            let stored = try [UInt8](Data(contentsOf: URL(fileURLWithPath: source)))
            let isCode = name.hasSuffix(".js") || name.hasSuffix(".css")
            #expect(bytes == (isCode ? ConsoleFiles.withoutComments(stored) : stored), "\(name)")
        }
        #expect(!site.index.contains("{{"))
    }

    @Test("Removing comments and indentation keeps line numbers and code")
    func comments() {
        let code = """
            /** About it. */

            const one = 1; // stays
            /**
             * Two lines.
             */
              const two = "/* no comment */";
            // A remark.
            const three = "  // none";
            """
        let sent = String(decoding: ConsoleFiles.withoutComments(Array(code.utf8)), as: UTF8.self)
        let lines = [
            "", "", "const one = 1; // stays", "", "", "", "const two = \"/* no comment */\";", "",
            "const three = \"  // none\";",
        ]
        #expect(sent == lines.joined(separator: "\n"))
    }

    @Test(
        "Serves the page's files and documents, but no hidden files or files outside the folder",
        arguments: ["../secret", "a/../../secret", ".hidden", "%2e%2e/secret"])
    func folder(path: String) throws {
        let folder = FileManager.default.temporaryDirectory.path + "/console-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/page", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        for name in ["secret", "page/.hidden", "page/own.js"] {
            try "x".write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
        }
        let files = ConsoleFiles(path: "/console", folder: folder + "/page")
        #expect(files.reply("own.js", acceptsGzip: false) != nil)
        #expect(files.reply("docs/tutorial.md", acceptsGzip: false) != nil)
        #expect(files.reply(path[...], acceptsGzip: false) == nil)
    }
}
