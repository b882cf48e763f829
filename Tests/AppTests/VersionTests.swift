import App
import Foundation
import TestSupport
import TestTools
import Testing

@Suite("The version")
struct VersionTests {
    @Test("Names the commit and local changes, or reports that no commit was recorded")
    func describes() {
        let commit = "0123456789abcdef0123456789abcdef01234567"
        #expect(Version.describe("1.2.3", stamp: "roost-commit:\(commit).") == "1.2.3 (commit 0123456789ab)")
        let changed = Version.describe("1.2.3", stamp: "roost-commit:\(commit)+")
        #expect(changed == "1.2.3 (commit 0123456789ab with local changes)")
        let dots = String(repeating: ".", count: 41)
        #expect(Version.describe("1.2.3", stamp: "roost-commit:\(dots)") == "1.2.3 (commit not recorded)")
    }

    @Test("Matches scripts/version.sh, whose check accepts only the version's own tag")
    func script() async throws {
        let printed = try await Self.script()
        #expect(printed.output == Version.text + "\n")
        let accepted = try await Self.script("check", "v\(Version.text)")
        #expect(accepted.status == 0, "\(accepted.output)")
        let refused = try await Self.script("check", "v0.0.0")
        #expect(refused.status == 1 && refused.output.contains("the tag is v0.0.0"), "\(refused.output)")
    }

    @Test("scripts/version.sh stamps a binary, replaces an earlier stamp, and keeps the file's date")
    func stamps() async throws {
        let binary = FileManager.default.temporaryDirectory.path + "/roost-version-\(UUID().uuidString)"
        try FileManager.default.copyItem(atPath: try CrashServer.findBinary(), toPath: binary)
        defer { try? FileManager.default.removeItem(atPath: binary) }
        func date() throws -> Date? {
            try FileManager.default.attributesOfItem(atPath: binary)[.modificationDate] as? Date
        }
        let before = try date()
        for (digit, ending) in [("a", ""), ("b", "+")] {
            let commit = String(repeating: digit, count: 40)
            let stamped = try await Self.script("stamp", binary, commit + ending)
            #expect(stamped.status == 0, "\(stamped.output)")
            let changes = ending.isEmpty ? "" : " with local changes"
            let text = "\(Version.text) (commit \(commit.prefix(12))\(changes))\n"
            for word in ["version", "--version"] {
                #expect(try await Program.run([binary, word]).output == text)
            }
        }
        #expect(try date() == before)
        let refused = try await Self.script("stamp", binary, "main")
        #expect(refused.status == 1 && refused.output.contains("main is not a commit"), "\(refused.output)")
    }

    private static func script(_ arguments: String...) async throws -> Program.Outcome {
        try await Program.run([Checkout.path("scripts/version.sh")] + arguments)
    }
}
