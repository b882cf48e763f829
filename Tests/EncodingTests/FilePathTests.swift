import Encoding
import Foundation
import Testing

@Suite("File paths and open files")
struct FilePathTests {
    @Test(
        "Splits a path into its folder and name",
        arguments: [
            ("/tmp/a", "a", "/tmp"), ("/tmp/a/", "a", "/tmp"), ("a", "a", ""), ("/a", "a", "/"), ("/", "/", "/"),
            ("a//b", "b", "a"), ("", "", ""), ("a/", "a", ""), ("a/b/c.tar.gz", "c.tar.gz", "a/b"),
        ])
    func parts(path: String, name: String, folder: String) {
        #expect(FilePaths.name(of: path) == name)
        #expect(FilePaths.folder(of: path) == folder)
    }

    @Test(
        "Takes the extension after the last dot of the file name",
        arguments: [("/a.b/main.js", "js"), ("main", ""), (".env", ""), ("a.b/c", ""), ("a.tar.gz", "gz"), ("a.", "")])
    func extensions(path: String, expected: String) {
        #expect(FilePaths.fileExtension(of: path) == expected)
    }

    @Test("Trims spaces and line breaks at the ends, but not inside a string")
    func trimming() {
        #expect(" \t\u{A0}a b\r\n ".trimmingBlanks(newlines: true) == "a b")
        #expect("\n a \n".trimmingBlanks() == "\n a \n")
        #expect("\r\n a \n\n".trimmingLineBreaks() == " a ")
        #expect("\n".trimmingBlanks(newlines: true).isEmpty)
    }

    @Test("Reads back written bytes, also after a seek; fails to write after a close")
    func file() throws {
        let path = FileManager.default.temporaryDirectory.path + "/roost-file-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(FilePaths.isFolder(path) == nil)
        let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0) }
        let written = try OpenFile(path, O_CREAT | O_EXCL | O_WRONLY, permissions: 0o600)
        try written.write(bytes)
        try written.write([])
        try written.synchronize()
        try written.close()
        try written.close()
        #expect(throws: SystemError.self) { try written.write(bytes) }
        #expect(FilePaths.isFolder(path) == false)
        #expect(FilePaths.isFolder(FilePaths.folder(of: path)) == true)
        let read = try OpenFile(path, O_RDONLY)
        var found: [UInt8] = []
        while case let piece = try read.read(65_536), !piece.isEmpty { found += piece }
        #expect(found == bytes)
        try read.seek(to: 199_999)
        #expect(try read.read(10) == [bytes[199_999]])
    }

    @Test("Reports the system's error if a file can't be opened or written")
    func failures() throws {
        let missing = #expect(throws: SystemError.self) { try OpenFile("/nowhere/at/all", O_RDONLY) }
        #expect(missing?.code == ENOENT && missing?.description == "No such file or directory")
        guard let full = try? OpenFile("/dev/full", O_WRONLY) else { return }
        let error = #expect(throws: SystemError.self) { try full.write([1]) }
        #expect(error?.code == ENOSPC)
    }
}
