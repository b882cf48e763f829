import JSON
import Rules
import Testing

@Suite struct ClassPathTests {
    @Test("Maps system classes to their own paths and back; other classes have none")
    func own() {
        for (className, path) in [
            ("_User", "users"), ("_Session", "sessions"), ("_Role", "roles"), ("_Installation", "installations"),
        ] {
            #expect(ClassPath.own(of: .init(className))?.text == path)
            #expect(ClassPath.className(ofPath: .init(path))?.text == className)
        }
        #expect(ClassPath.own(of: "Song") == nil)
        #expect(ClassPath.className(ofPath: "songs") == nil)
    }

    @Test("Requests for objects and schemas are about a class, others are not")
    func addressed() {
        for (path, className) in [
            (["classes", "Song"], "Song"), (["users", "u"], "_User"), (["schemas", "Song"], "Song"),
            (["Purge", "Song"], "Song"), (["schemas"], "Body"), (["hooks", "functions"], nil), ([], nil),
        ] as [([String], String?)] {
            #expect(ClassPath.className(of: path, body: ["className": "Body"]) == className, "\(path)")
        }
    }

    @Test("Location paths start with users for users, and with classes/<Class> for other objects")
    func told() {
        #expect(ClassPath.path(of: "_User") == "users")
        #expect(ClassPath.path(of: "_Role") == "classes/_Role")
        #expect(ClassPath.path(of: "Song") == "classes/Song")
    }
}
