import Rules
import Testing

@Suite("File names of uploads")
struct FileNamingTests {
    private static let digits = "0123456789abcdef0123456789abcdef"
    private static let uuid = "0123abcd-0123-4567-89ab-0123456789ab"

    @Test(
        "Recognizes uploads by random digits before the last path component",
        arguments: [
            "\(digits)_a.txt", "\(digits)_é +%.txt", "covers/\(digits)_a.txt", "a/b/\(digits)_a.txt", "\(uuid)-a.txt",
            "tfss-\(uuid)-a.txt",
        ])
    func random(name: String) {
        #expect(FileNaming.isOfUpload(name, isPreserved: false))
        #expect(FileNaming.isOfUpload(name, isPreserved: true))
    }

    @Test(
        "Rejects names that no upload can have",
        arguments: [
            "backups/db.sql", "../x", "..", "", "/", "/a", "a/", "a//b", ".env", "\(digits)_a.txt/",
            "\(digits)_/db.sql",
            "\(digits)_a/../db.sql", "a%2Fb", "a\u{0}b", "é\(digits)_a.txt", "x/\(digits)_", "x/\(digits)a.txt",
        ])
    func others(name: String) {
        #expect(!FileNaming.isOfUpload(name, isPreserved: false))
        #expect(!FileNaming.isOfUpload(name, isPreserved: true))
    }

    @Test(
        "Accepts names chosen by clients only with preserveFileName and outside of folders",
        arguments: [
            "db.sql", "a b~@.x", "\(digits)_", "\(digits)a.txt", "\(digits.dropLast())_a.txt", "\(uuid)_a.txt",
            "tfss-a.txt",
            "g\(digits.dropFirst())_a.txt",
        ])
    func preserved(name: String) {
        #expect(!FileNaming.isOfUpload(name, isPreserved: false))
        #expect(FileNaming.isOfUpload(name, isPreserved: true))
        #expect(!FileNaming.isOfUpload("backups/" + name, isPreserved: true))
    }
}
