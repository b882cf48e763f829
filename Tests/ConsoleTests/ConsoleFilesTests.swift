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
        for name in files where name != "index.html" {
            let reply = try #require(site.reply(name[...], acceptsGzip: false))
            guard case .json(let bytes) = reply.body else { throw CocoaError(.fileReadUnknown) }
            let stored = try [UInt8](Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
            let isCode = name.hasSuffix(".js") || name.hasSuffix(".css")
            #expect(bytes == (isCode ? ConsoleFiles.withoutComments(stored) : stored), "\(name)")
        }
        #expect(!site.index.contains("{{"))
    }

    @Test("Serves the documents as HTML pages whose links and anchors exist")
    func documents() throws {
        let site = ConsoleFiles(path: "/console", folder: nil)
        let names = ConsoleFiles.numbers.keys.filter { $0.hasPrefix("docs/") }
        let stored = try FileManager.default.contentsOfDirectory(atPath: Checkout.path("docs"))
        #expect(Set(names) == Set(stored.filter { $0.hasSuffix(".md") }.map { "docs/\($0)" }))
        var pages: [Substring: String] = [:]
        for name in names {
            let reply = try #require(site.reply(name[...], acceptsGzip: false))
            guard case .json(let bytes) = reply.body else { throw CocoaError(.fileReadUnknown) }
            #expect(reply.headers.contains { $0 == ("Content-Type", "text/html; charset=utf-8") })
            pages[name.dropFirst("docs/".count)] = String(decoding: bytes, as: UTF8.self)
        }
        for (name, page) in pages {
            let prose = page.replacing(/<pre>[\s\S]*?<\/pre>|<code>[^<]*<\/code>/, with: "")
            for rest in ["<!--", "&lt;picture", "```", "](", "**", "| ", "\n#"] {
                #expect(!prose.contains(rest), "\(name): \(rest)")
            }
            for element in ["p", "li", "ol", "ul", "table", "tr", "td", "strong", "em", "a", "pre", "h2"] {
                let starts = page.ranges(of: "<\(element)>").count + page.ranges(of: "<\(element) ").count
                #expect(starts == page.ranges(of: "</\(element)>").count, "\(name): \(element)")
            }
            for link in page.matches(of: /href="([^"#]*)#([^"]+)"/) where !link.1.contains(":") {
                let target = link.1.isEmpty ? page : pages[link.1]
                #expect(target?.contains("id=\"\(link.2)\"") == true, "\(name): \(link.0)")
            }
        }
    }

    @Test(
        "A document's Markdown becomes HTML",
        arguments: [
            (
                "a < b & `<c>`, **d `e`** and *f*",
                "<p>a &lt; b &amp; <code>&lt;c&gt;</code>, <strong>d <code>e</code></strong> and <em>f</em></p>"
            ),
            ("one\ntwo\n\nthree", "<p>one\ntwo</p>\n<p>three</p>"),
            ("<picture>\n  <img alt=\"a\n  b\">\n</picture>\n\none", "<p>one</p>"),
            (
                "[Push `x`](push.md#a-b), [code](../x.c), <https://a.b>",
                "<p><a href=\"push.md#a-b\">Push <code>x</code></a>, code, <a href=\"https://a.b\">https://a.b</a></p>"
            ),
            (
                "## What `files.max` is: a limit",
                "<h2 id=\"what-filesmax-is-a-limit\">What <code>files.max</code> is: a limit</h2>"
            ),
            (
                "| a | b |\n|---|---|\n| 1 \\| 2 | `x` |",
                "<table>\n<tr><th>a </th><th>b </th></tr>\n<tr><td>1 | 2 </td><td><code>x</code> </td></tr>\n</table>"
            ),
            (
                "1. a\n   b\n\n   ```sh\n   c <d>\n   ```\n2. e",
                "<ol>\n<li>a\nb<pre><code>c &lt;d&gt;</code></pre>\n</li>\n<li>e</li>\n</ol>"
            ),
            ("* a\n  - b\n* c", "<ul>\n<li>a<ul>\n<li>b</li>\n</ul>\n</li>\n<li>c</li>\n</ul>"),
            ("<!-- try run -->\n```sh\nls\n\nls\n```\n<!-- end -->", "<pre><code>ls\n\nls</code></pre>"),
        ])
    func markdown(text: String, html: String) {
        let page = DocumentPage("# Title\n\n" + text) { $0 == "push.md" }.html
        let head = "<h1 id=\"title\">Title</h1>\n"
        #expect(
            page.contains("<title>Title · Roost</title>") && page.hasSuffix(head + html + "\n</main></body></html>\n"),
            "\(page)")
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
