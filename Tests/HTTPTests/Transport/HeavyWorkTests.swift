import HTTP
import Limits
import NIOCore
import NIOPosix
import ParseStorage
import REST
import Testing

@Suite struct HeavyWorkTests {
    @Test("Runs slow work off the event loop and returns to it afterward")
    func places() async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let places = await Task.detached {
            await withTaskExecutorPreference(EventLoopTaskExecutor(loop)) {
                await Task.yield()
                let before = loop.inEventLoop
                let inside = await HeavyWork.run(Cost(isSlow: true)) { loop.inEventLoop }
                let after = loop.inEventLoop
                let light = await HeavyWork.run(Cost()) { loop.inEventLoop }
                return [before, inside, after, light]
            }
        }.value
        #expect(places == [true, false, true, true])
    }
}
