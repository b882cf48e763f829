import ServerConfiguration
import Testing

@testable import App

@Suite("What the server prints when it listens")
struct BannerTests {
    @Test(
        "No log shows a key: keys are for an example at a terminal only",
        arguments: [
            ("/home/kim/roost/examples/music", true, true), ("/srv/examples", true, true),
            ("/home/kim/roost/examples/music", false, false), ("/etc/roost", true, false),
            ("/srv/examples-old", true, false), ("/srv/my examples", true, false), (nil, true, false),
            (nil, false, false), ("", true, false),
        ] as [(String?, Bool, Bool)])
    func mayShowKeys(folder: String?, isTerminal: Bool, isShown: Bool) {
        #expect(Banner.mayShowKeys(configurationFolder: folder, isTerminal: isTerminal) == isShown)
    }

    @Test("The lines name each key by its option, or show it, and the request to try has the same key")
    func lines() throws {
        let file = #"{"appId": "app", "masterKey": "masterSecret", "restAPIKey": "restSecret", "host": "::"}"#
        let (configuration, _) = try Configuration.load(file: Array(file.utf8), environment: [:], flags: [])
        func text(showsKeys: Bool) -> String {
            Banner(
                configuration: configuration, port: 1337, dataFolder: "/data", filesFolder: "/files",
                showsKeys: showsKeys
            ).text
        }
        let hidden = text(showsKeys: false)
        #expect(!hidden.contains("masterSecret") && !hidden.contains("restSecret"), "\(hidden)")
        #expect(hidden.contains("masterKey") && hidden.contains("-H 'X-Parse-REST-API-Key: <restAPIKey>'"))
        let shown = text(showsKeys: true)
        #expect(shown.contains("masterSecret") && shown.contains("-H 'X-Parse-REST-API-Key: restSecret'"), "\(shown)")
        for lines in [hidden, shown] { #expect(lines.contains("http://127.0.0.1:1337/parse/classes/Playlist")) }
    }

    @Test("The request to try has the master key where clients make no classes")
    func request() throws {
        for (makesClasses, isAsked) in [(true, false), (false, true)] {
            let file = #"{"appId": "app", "masterKey": "m", "allowClientClassCreation": \#(makesClasses)}"#
            let (configuration, _) = try Configuration.load(file: Array(file.utf8), environment: [:], flags: [])
            let text = Banner(
                configuration: configuration, port: 1337, dataFolder: "/data", filesFolder: "/files", showsKeys: false
            ).text
            #expect(text.contains("-H 'X-Parse-Master-Key: <masterKey>'") == isAsked, "\(text)")
        }
    }

    @Test("The folder is that of the data, or of the files alone where the database is elsewhere")
    func folders() throws {
        let rows = [("{}", "data folder     /data"), (#"{"databaseURI": "postgres://db"}"#, "files folder    /up")]
        for (file, line) in rows {
            let (configuration, _) = try Configuration.load(
                file: Array(file.utf8), environment: [:], flags: ["--appId", "app", "--masterKey", "m"])
            let text = Banner(
                configuration: configuration, port: 1337, dataFolder: "/data", filesFolder: "/up", showsKeys: false
            ).text
            #expect(text.contains(line) && text.components(separatedBy: " folder ").count == 2, "\(text)")
        }
    }
}
