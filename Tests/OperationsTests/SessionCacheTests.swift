import JSON
import Operations
import Rules
import Testing

@Suite("Session cache")
struct SessionCacheTests {
    private static func entry(_ token: String, of user: String, roles: Int = 0) -> SessionCache.Entry {
        SessionCache.Entry(
            user: SessionUser(
                id: user, sessionId: token, token: token, roles: (0..<roles).map { Name("role:\($0)") },
                isAnonymous: false),
            updatedAt: 0, loadedAt: 0)
    }

    private static func cache(_ capacity: Int, _ tokens: [String]) -> SessionCache {
        let cache = SessionCache(timeToLive: 1_000, capacity: capacity)
        for token in tokens { cache.insert(entry(token, of: String(token.prefix(1))), generation: cache.generation) }
        return cache
    }

    @Test("Evicts the least recently used session")
    func eviction() {
        let cache = Self.cache(3, ["a1", "b1", "c1"])
        #expect(cache.find("a1", now: 0) != nil)
        cache.insert(Self.entry("d1", of: "d"), generation: cache.generation)
        #expect(["a1", "b1", "c1", "d1"].map { cache.find($0, now: 0) != nil } == [true, false, true, true])
    }

    @Test("Invalidates all sessions of a user, also after evictions")
    func users() {
        let cache = Self.cache(2, ["a1", "a2", "b1"])
        cache.invalidate(user: "a")
        #expect(["a1", "a2", "b1"].map { cache.find($0, now: 0) != nil } == [false, false, true])
        cache.insert(Self.entry("a1", of: "a"), generation: cache.generation)
        #expect(cache.find("a1", now: 0) != nil)
        cache.invalidateAll()
        #expect(cache.find("b1", now: 0) == nil)
    }

    @Test("Sessions with many roles evict several others, and even an oversized one is cached")
    func manyRoles() {
        let cache = Self.cache(4, ["a1", "b1", "c1", "d1"])
        cache.insert(
            Self.entry("e1", of: "e", roles: 2 * SessionCache.rolesOfOne), generation: cache.generation)
        #expect(
            ["a1", "b1", "c1", "d1", "e1"].map { cache.find($0, now: 0) != nil } == [false, false, false, true, true])
        cache.insert(
            Self.entry("f1", of: "f", roles: 100 * SessionCache.rolesOfOne), generation: cache.generation)
        #expect(["d1", "e1", "f1"].map { cache.find($0, now: 0) != nil } == [false, false, true])
        #expect(!cache.claimExtension(of: "f1", changedBefore: 0, now: 1))
        #expect(cache.claimExtension(of: "f1", changedBefore: 1, now: 1))
        #expect(cache.find("f1", now: 0) != nil)
    }

    @Test("Expires sessions, and doesn't cache one loaded before an invalidation")
    func age() {
        let cache = Self.cache(2, ["a1"])
        #expect(cache.find("a1", now: 999) != nil)
        #expect(cache.find("a1", now: 1_000) == nil)
        let generation = cache.generation
        cache.invalidate(user: "z")
        cache.insert(Self.entry("b1", of: "b"), generation: generation)
        #expect(cache.find("b1", now: 0) == nil)
    }
}
