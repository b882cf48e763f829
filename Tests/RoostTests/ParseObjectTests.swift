import Foundation
import Roost
import Testing

/// Stored values and pending changes of objects.
@Suite struct ParseObjectTests {
    private static func stored() -> ParseObject {
        ParseObject(
            "Post",
            json: [
                "objectId": "p1", "createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-01-02T00:00:00.000Z",
                "n": 1, "list": ["a"], "text": "x", "ACL": ["*": ["read": true]],
            ])
    }

    @Test("Reads, sets, unsets, increments and reverts fields, recording changes as operations")
    func changes() throws {
        var post = Self.stored()
        #expect(post.objectId == "p1")
        #expect(post.createdAt == Date(timeIntervalSince1970: 1_767_225_600))
        #expect(post.dirtyKeys.isEmpty)
        post["text"] = "y"
        post["new"] = true
        post.unset("list")
        post.increment("n")
        post.increment("n", by: 2)
        #expect(post["text"] == "y")
        #expect(post["n"] == 4)
        #expect(post["list"] == nil)
        #expect(
            post.operations == [
                "text": "y", "new": true, "list": ["__op": "Delete"], "n": ["__op": "Increment", "amount": 3],
            ])
        post.revert("text")
        #expect(post["text"] == "x")
        #expect(!post.isDirty("text"))
        #expect(try post.value("n", as: Int.self) == 4)
        #expect(throws: DecodingError.self) { try post.value("text", as: Int.self) }
    }

    @Test("Records list changes as operations, and merges different kinds into the resulting value")
    func lists() {
        var post = Self.stored()
        post.add(["b"], to: "list")
        post.add(["b"], to: "list")
        #expect(post.operations["list"] == ["__op": "Add", "objects": ["b", "b"]])
        #expect(post["list"] == ["a", "b", "b"])
        post.remove(["b"], from: "list")
        #expect(post.operations["list"] == ["a"])
        post.addUnique(["a", "c"], to: "other")
        #expect(post["other"] == ["a", "c"])
        post["n"] = 10
        post.increment("n")
        #expect(post.operations["n"] == 11)
        post.addRelation([ParsePointer("_User", "u")], to: "fans")
        #expect(
            post.operations["fans"] == [
                "__op": "AddRelation", "objects": [["__type": "Pointer", "className": "_User", "objectId": "u"]],
            ])
        let added = post.operations["fans"] ?? .null
        post.removeRelation([], from: "fans")
        post.addRelation([], to: "fans")
        #expect(
            post.operations["fans"] == [
                "__op": "Batch",
                "ops": [
                    added, ["__op": "RemoveRelation", "objects": []], ["__op": "AddRelation", "objects": []],
                ],
            ])
    }

    @Test("Ignores changes to the id, dates and class name")
    func fixed() {
        var post = Self.stored()
        for key in ["objectId", "createdAt", "updatedAt", "className"] { post[key] = "x" }
        #expect(post.operations.isEmpty)
        #expect(post["objectId"] == "p1")
    }

    @Test("Encodes a nested object with its class, or as a pointer if it is modified or has no fields")
    func embedded() throws {
        var post = Self.stored()
        let whole = try ValueEncoder.encode(["post": post])["post"]
        #expect(whole?["__type"] == "Object")
        #expect(whole?["className"] == "Post")
        #expect(whole?["createdAt"] == "2026-01-01T00:00:00.000Z")
        let pointer: JSONValue = ["__type": "Pointer", "className": "Post", "objectId": "p1"]
        post["text"] = "y"
        #expect(try ValueEncoder.encode(post) == pointer)
        #expect(try ValueEncoder.encode(ParseObject("Post", objectId: "p1")) == pointer)
        #expect(try ValueDecoder.decode(ParseObject.self, from: pointer).pointer == ParsePointer("Post", "p1"))
        #expect(throws: DecodingError.self) { try ValueDecoder.decode(ParseObject.self, from: ["objectId": "p1"]) }
    }

    @Test("Reads and writes ACLs")
    func acl() throws {
        var post = Self.stored()
        var acl = try #require(post.acl)
        #expect(acl.canRead("*"))
        #expect(!acl.canWrite("*"))
        acl.allow("*")
        acl.allow("role:Staff", read: true, write: true)
        post.acl = acl
        #expect(post["ACL"] == ["role:Staff": ["read": true, "write": true]])
    }

    @Test("Encodes queries and their changes as REST parameters")
    func queries() {
        let query = ParseQuery("Post").where("n", .atLeast(1)).where("n", .lessThan(5)).where("a", .equals("b"))
            .order(by: "-createdAt", "n").limit(10).skip(5).include("author", "author.club")
        #expect(
            query.parameters == [
                "where": ["n": ["$gte": 1, "$lt": 5], "a": "b"], "order": "-createdAt,n", "limit": 10, "skip": 5,
                "include": "author,author.club",
            ])
        var changed = query
        changed.limit = nil
        changed.keys = ["a"]
        #expect(changed.changes(since: query) == ["keys": "a", "limit": nil])
        #expect(query.changes(since: query) == nil)
        changed.skip = 0
        changed.order = []
        changed.include = []
        #expect(changed.parameters.keys.map(\.text) == ["where", "keys"])
    }
}
