-- The data of the five music apps: 10,000 users, 100,000 playlist rows, 1,000,000 likes and related rows.
-- Ids are strings of ten digits. Pointers are spread: the objects of one user point to different objects.
INSERT INTO "_User" ("objectId", "createdAt", "updatedAt", "username", "description", "followersCount",
    "followingCount")
SELECT (1000000000 + n)::text, now(), now(), 'fan' || n, 'Hears music of the kind ' || n % 40, 20, 20
FROM generate_series(1, 10000) AS n;

INSERT INTO "Song" ("objectId", "createdAt", "updatedAt", "name", "artist", "album", "albumCover")
SELECT (1000000000 + n)::text, now(), now(), 'Song ' || n, 'Artist ' || n % 500, 'Album ' || n % 1000,
    'https://images.example/cover/' || n % 1000 || '.jpg'
FROM generate_series(1, 10000) AS n;

-- Half of the users have 20 each, with three songs.
INSERT INTO "Playlist" ("objectId", "createdAt", "updatedAt", "user", "title", "artist", "album", "name", "songs")
SELECT (1000000000 + n)::text, now() - n * interval '1 second', now() - n * interval '1 second',
    (1000000001 + n % 5000)::text, 'Title ' || n, 'Artist ' || n % 500, 'Album ' || n % 1000, 'Playlist ' || n,
    (SELECT jsonb_agg(jsonb_build_object('__type', 'Pointer', 'className', 'Song',
        'objectId', (1000000001 + (n * 3 + place + n / 5000 * 163) % 10000)::text)) FROM generate_series(0, 2) AS place)
FROM generate_series(0, 99999) AS n;

-- Each follows 20 others.
INSERT INTO "Followers" ("objectId", "createdAt", "updatedAt", "following", "followed")
SELECT (1000000000 + n)::text, now(), now(), (1000000001 + n % 10000)::text,
    (1000000001 + (n % 10000 + (n / 10000 + 1) * 487) % 10000)::text
FROM generate_series(0, 199999) AS n;

-- Each posts 10 times.
INSERT INTO "Posts" ("objectId", "createdAt", "updatedAt", "user", "song", "caption", "time")
SELECT (1000000001 + n)::text, now() - n * interval '1 second', now(), (1000000001 + n % 10000)::text,
    'spotify:track:' || n % 10000, 'Listening to number ' || n, now() - n * interval '1 second'
FROM generate_series(0, 99999) AS n;

-- Each comments on 20 posts, and likes 100.
INSERT INTO "Comments" ("objectId", "createdAt", "updatedAt", "user", "post", "text", "time")
SELECT (1000000000 + n)::text, now() - n * interval '1 second', now(), (1000000001 + n % 10000)::text,
    (1000000001 + (n % 10000 * 37 + n / 10000 * 4801) % 100000)::text, 'Comment number ' || n,
    now() - n * interval '1 second'
FROM generate_series(0, 199999) AS n;
INSERT INTO "Likes" ("objectId", "createdAt", "updatedAt", "user", "post")
SELECT (1000000000 + n)::text, now() - n * interval '1 second', now(), (1000000001 + n % 10000)::text,
    (1000000001 + (n % 10000 * 37 + n / 10000 * 4801) % 100000)::text
FROM generate_series(0, 999999) AS n;
