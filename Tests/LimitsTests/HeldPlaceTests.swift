import Limits
import Synchronization
import Testing

@Suite("Slot of a request")
struct HeldPlaceTests {
    private struct Failure: Error {}

    @Test("Is held while the request runs, and released when it ends or fails")
    func held() async throws {
        let gate = Gate(capacity: 1)
        try await HeldPlace.run(in: gate) { #expect(gate.used == 1) }
        await #expect(throws: Failure.self) { try await HeldPlace.run(in: gate) { throw Failure() } }
        #expect(gate.used == 0 && HeldPlace.current == nil)
    }

    @Test("Is released during outside calls, and taken again when the last one returns")
    func outside() async throws {
        let gate = Gate(capacity: 1)
        try await HeldPlace.run(in: gate) {
            let place = try #require(HeldPlace.current)
            place.goOutside()
            place.goOutside()
            #expect(gate.used == 0)
            await place.comeBack(takingPlace: true)
            #expect(gate.used == 0)
            await place.comeBack(takingPlace: true)
            #expect(gate.used == 1)
            place.goOutside()
            await place.comeBack(takingPlace: false)
            #expect(gate.used == 0)
        }
        #expect(gate.used == 0)
    }

    @Test("Isn't waited for after the caller has left", .timeLimit(.minutes(1)))
    func left() async throws {
        let gate = Gate(capacity: 1)
        let presence = CallerPresence()
        try await CallerPresence.$current.withValue(presence) {
            try await HeldPlace.run(in: gate) {
                let place = try #require(HeldPlace.current)
                place.goOutside()
                #expect(gate.tryEnter())
                presence.leave()
                await place.comeBack(takingPlace: true)
            }
        }
        #expect(gate.used == 1)
    }
}
