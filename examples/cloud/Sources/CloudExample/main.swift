import Roost

/// A class of the app. Its properties are the fields.
struct Review: ParseRecord {
    static let className = "Review"
    var objectId: String?
    var title: String?
    var stars: Int?
}

struct Average: Encodable {
    var count: Int
    var stars: Double
}

let app = RoostApp()

// POST /parse/functions/hello {"name": "Kim"}
app.cloud.define("hello") { request in
    "Hello, \(request.params["name"]?.stringValue ?? "world")!"
}

// An error rejects the save. Changes of the object are saved.
app.cloud.beforeSave(Review.self, requires: .field("stars", type: .number, required: true)) { request in
    guard let stars = request.object.stars, (1...5).contains(stars) else {
        throw ParseError(142, "A review has one to five stars.")
    }
    request.object.title = request.object.title ?? "Untitled"
}

// Counts only reviews that the caller may read.
app.cloud.define("averageStars") { request in
    let reviews = try await request.data(.asCaller).find(Review.self) { $0.limit = 1000 }
    let stars = reviews.compactMap(\.stars).reduce(0, +)
    return Average(count: reviews.count, stars: reviews.isEmpty ? 0 : Double(stars) / Double(reviews.count))
}

// Started by POST /parse/jobs/countReviews with the master key, or by a schedule.
app.cloud.job("countReviews", oneAtATime: true) { request in
    request.message("Counting…")
    return "\(try await request.data(.asMaster).count(ParseQuery("Review"))) reviews"
}

// Notifies users of follows, likes and messages in the music apps, if push is configured.
Notifications.register(with: app.cloud)

try await app.run()
