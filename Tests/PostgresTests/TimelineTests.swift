import Postgres
import Testing

@Suite("Servers on old timelines") struct TimelineTests {
    @Test("Rejects a server on an older timeline and avoids it for a while")
    func refusal() {
        var watch = TimelineWatch()
        let now = MonotonicInstant.now
        let (one, two) = (ServerAddress(host: "one", port: "5432"), ServerAddress(host: "two", port: "5433"))
        let first = watch.admits("0000000A", of: one, at: now)
        let second = watch.admits("0000000B", of: two, at: now)
        let again = watch.admits("0000000A", of: one, at: now)
        #expect((first, second, again) == (true, true, false))
        let avoided = watch.avoided(at: now)
        #expect(avoided == [one])
        let later = watch.avoided(at: now.after(.seconds(11)))
        #expect(later.isEmpty)
        // It follows the new primary and is promoted itself.
        let back = watch.admits("0000000C", of: one, at: now)
        let replaced = watch.admits("0000000B", of: two, at: now)
        #expect((back, replaced) == (true, false))
        #expect(watch.latest == 12)
    }

    @Test("Leaves avoided servers out of the connection parameters, unless none would remain")
    func addresses() {
        let parts = [("host", "one,/two,three"), ("port", "5432,5433,"), ("user", "u")]
        func left(_ avoided: ServerAddress...) -> [String] {
            ServerAddress.parameters(of: parts, avoiding: Set(avoided)).map { "\($0.0)=\($0.1)" }
        }
        let (one, two) = (ServerAddress(host: "one", port: "5432"), ServerAddress(host: "/two", port: "5433"))
        let three = ServerAddress(host: "three", port: "5432")
        #expect(left(one) == ["host=/two,three", "port=5433,"])
        #expect(left(one, three) == ["host=/two", "port=5433"])
        #expect(left(one, two, three).isEmpty)
        #expect(left(ServerAddress(host: "one", port: "1")).isEmpty)
        let same = ServerAddress.parameters(
            of: [("host", "a,b"), ("port", "7")], avoiding: [.init(host: "a", port: "7")])
        #expect(same.map(\.1) == ["b"])
        // An empty host stands for the local socket.
        let local = ServerAddress.parameters(of: [("host", ",b")], avoiding: [.init(host: "b", port: "5432")])
        #expect(local.map(\.1) == [""])
    }
}
