import JSON
import TestSupport
import Testing

@Suite("Cloud code with Parse SDK 1.x")
struct LegacySDKTests {
    private static let code = """
        Parse.Cloud.define('find', function (request, response) {
          new Parse.Query('Item').find({
            success: function (list) { response.success(list.length); },
            error: function (error) { response.error(error); },
          });
        });
        Parse.Cloud.define('first', function (request, response) {
          const promise = new Parse.Promise();
          new Parse.Query('Item').first().then(function (item) { promise.resolve(item.id); });
          Parse.Promise.when([promise, Parse.Promise.as(1)]).then(function () { response.success('done'); });
        });
        Parse.Cloud.define('save', function (request, response) {
          const item = new Parse.Object('Item');
          item.set('n', 2);
          item.save(null, {
            success: function (saved) { response.success([saved.id === undefined, saved.existed()]); },
            error: function (object, error) { response.error(error); },
          });
        });
        Parse.Cloud.define('refused', function (request, response) {
          const item = Parse.Object.fromJSON({ className: 'Item', objectId: 'none' });
          item.destroy({ success: response.success, error: function (object, error) { response.error(error); } });
        });
        Parse.Cloud.define('destroy', function (request, response) {
          new Parse.Query('Item').first().then(function (item) { return item.destroy({ useMasterKey: true }); })
            .always(function () { response.success('gone'); });
        });
        Parse.Cloud.define('ask', function (request, response) {
          Parse.Cloud.httpRequest({ url: Parse.serverURL + '/health' })
            .fail(function () { response.error('no'); })
            .always(function (answer) { response.success(answer.data.status); });
        });
        Parse.Cloud.beforeSave('Counting', function (request, response) {
          new Parse.Query('Item').count({
            success: function (n) { request.object.set('items', n); response.success(); }, error: response.error,
          });
        });
        Parse.Cloud.afterSave('Counting', function (request, response) {});
        Parse.Cloud.afterDelete('Counting', function (request, response) {});
        Parse.Cloud.beforeFind('Counting', function (request) { request.query.limit(1); });
        """

    @Test("SDK requests return Parse promises and run callbacks")
    func promises() async throws {
        let options: JSONObject = ["cloudLegacyCallbacks": true, "cloudHttpRequest": true, "cloudTimeout": 5_000]
        try await CloudApp.serve(["main.js": Self.code], options, sdk: .legacy) { server, _ in
            _ = try await server.create("Item", ["n": 1])
            for (name, expected) in [
                ("find", 1), ("first", "done"), ("save", [false, false]), ("destroy", "gone"), ("find", 1),
                ("ask", "ok"),
            ] as [(String, JSONValue)] {
                let answer = try await server.call(name)
                #expect(answer["result"] == expected, "\(name): \(answer.text)")
            }
            let refused = try await server.call("refused")
            #expect(refused.code == 101, "\(refused.text)")
        }
    }

    @Test("Triggers with callbacks work, and after-triggers that never call back don't delay the response")
    func triggers() async throws {
        let options: JSONObject = ["cloudLegacyCallbacks": true, "cloudTimeout": 5_000]
        try await CloudApp.serve(["main.js": Self.code], options, sdk: .legacy) { server, _ in
            _ = try await server.create("Item", ["n": 1])
            let start = ContinuousClock.now
            for _ in 1...2 {
                let saved = try await server.send("POST", "/classes/Counting", ["a": 1])
                #expect(saved.status == 201 && saved["items"] == 1, "\(saved.text)")
            }
            #expect(try await server.find("Counting").results.count == 1)
            let id = try await server.create("Counting", [:])
            #expect(try await server.send("DELETE", "/classes/Counting/\(id)").status == 200)
            #expect(ContinuousClock.now - start < .seconds(5))
        }
    }
}
