-- Functions of Roost's own. parse-server neither has nor minds them. Those in PL/pgSQL that call others find them by the
-- path of their installation: servers to which Citus sends a statement have another one.

-- Refuses a row that is larger as JSON than it may be. Its size in PostgreSQL, where values may be compressed, to a
-- ninetieth and less, and nothing is escaped, is known at once, and is compared first: what it is as JSON has to be
-- written.
CREATE OR REPLACE FUNCTION roost_bound(changed record, most integer) RETURNS boolean
LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    IF pg_column_size(changed) > most / 256 AND octet_length(to_jsonb(changed)::text) > most THEN
        RAISE EXCEPTION '%', most USING ERRCODE = 'RS116';
    END IF;
    RETURN NULL;
END
$$;

-- The number of the change of an object: it is taken while the statement that gives the row holds it. Databases with Citus
-- have other forms of this and the functions beside it (Distribution.functions).
CREATE OR REPLACE FUNCTION roost_change_number(id text, numbers regclass) RETURNS bigint LANGUAGE sql AS $$
    SELECT nextval(numbers)
$$;

-- Whether a moment is over: by the clock, and not by the transaction's beginning.
CREATE OR REPLACE FUNCTION roost_is_over(moment timestamptz) RETURNS boolean LANGUAGE sql PARALLEL SAFE AS $$
    SELECT moment <= clock_timestamp()
$$;

CREATE OR REPLACE FUNCTION roost_add(list jsonb, items jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(list) = 'array' THEN list ELSE '[]'::jsonb END || items
$$;

-- The array, then those items that it does not have yet, each once, in their order. Of few items, scalars are looked up
-- without making values of all elements. So are objects of scalars: an array that contains none equal to it in part has
-- none that is equal. Of values with containers inside nothing is asked in part: PostgreSQL compares each element of an
-- array with each of the other, and neither a cancellation nor a time limit stops it.
CREATE OR REPLACE FUNCTION roost_add_unique(list jsonb, items jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    -- To add nothing reads it from the table once; else each look would.
    known jsonb := CASE WHEN jsonb_typeof(list) = 'array' THEN list ELSE '[]'::jsonb END || '[]'::jsonb;
    fresh jsonb;
BEGIN
    IF jsonb_array_length(items) <= 16 THEN
        SELECT jsonb_agg(item ORDER BY place) INTO fresh
        FROM (SELECT item, min(place) AS place FROM jsonb_array_elements(items) WITH ORDINALITY AS i(item, place)
              GROUP BY item) AS new
        WHERE CASE
            WHEN jsonb_typeof(item) NOT IN ('object', 'array') THEN NOT known @> jsonb_build_array(item)
            WHEN jsonb_typeof(item) = 'object' AND NOT jsonb_path_exists(item, 'strict $.* ? (@.type() == "array" || @.type() == "object")')
                AND NOT known @> jsonb_build_array(item) THEN TRUE
            ELSE NOT EXISTS (SELECT 1 FROM jsonb_array_elements(known) AS e(element) WHERE element = item) END;
    ELSE
        SELECT jsonb_agg(item ORDER BY place) INTO fresh
        FROM (SELECT item, min(place) AS place FROM jsonb_array_elements(items) WITH ORDINALITY AS i(item, place)
              GROUP BY item) AS new
        WHERE item NOT IN (
            SELECT element FROM jsonb_array_elements(known) AS e(element)
            WHERE element IN (SELECT jsonb_array_elements(items)));
    END IF;
    RETURN known || COALESCE(fresh, '[]'::jsonb);
END
$$;

-- The array without any element equal to one of the items.
CREATE OR REPLACE FUNCTION roost_remove(list jsonb, items jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT COALESCE((
        SELECT jsonb_agg(element ORDER BY place)
        FROM jsonb_array_elements(CASE WHEN jsonb_typeof(list) = 'array' THEN list END)
             WITH ORDINALITY AS e(element, place)
        WHERE NOT EXISTS (SELECT 1 FROM jsonb_array_elements(items) AS i(item) WHERE item = element)), '[]'::jsonb)
$$;

-- A number in JSON plus an amount; anything that is not a number counts as 0.
CREATE OR REPLACE FUNCTION roost_increment(number jsonb, amount double precision) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_jsonb(CASE WHEN jsonb_typeof(number) = 'number' THEN number::text::double precision ELSE 0 END + amount)
$$;

-- The document with the value at a path replaced. Parents that are missing become objects; an array that is too short
-- is filled with nulls; what is neither object nor array gives way.
CREATE OR REPLACE FUNCTION roost_set(document jsonb, path text[], value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    step text := path[1];
    place int;
    child jsonb;
BEGIN
    IF cardinality(path) = 0 THEN
        RETURN value;
    END IF;
    IF jsonb_typeof(document) = 'array' AND step ~ '^[0-9]{1,6}$' THEN
        place := step::int;
        IF place - jsonb_array_length(document) > 10000 THEN
            RAISE EXCEPTION 'Cannot set % of an array', step USING ERRCODE = 'RS111';
        END IF;
        child := roost_set(document -> place, path[2:], value);
        IF jsonb_array_length(document) <= place THEN
            -- All at once: each by itself would copy the whole array.
            document := document || (
                SELECT jsonb_agg('null'::jsonb) FROM generate_series(jsonb_array_length(document), place));
        END IF;
        RETURN jsonb_set(document, ARRAY[step], child);
    END IF;
    IF jsonb_typeof(document) = 'array' THEN
        RAISE EXCEPTION 'Cannot set % of an array', step USING ERRCODE = 'RS111';
    END IF;
    IF document IS NULL OR jsonb_typeof(document) <> 'object' THEN
        document := '{}'::jsonb;
    END IF;
    RETURN document || jsonb_build_object(step, roost_set(document -> step, path[2:], value));
END
$$;

-- What is kept of a document so far, with what a path leads to in the document; in arrays on the way, in each object.
-- NULL where the path meets neither object nor array.
CREATE OR REPLACE FUNCTION roost_included(kept jsonb, document jsonb, path text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    child jsonb;
BEGIN
    IF cardinality(path) = 0 THEN RETURN document; END IF;
    IF jsonb_typeof(document) = 'object' THEN
        kept := CASE WHEN jsonb_typeof(kept) = 'object' THEN kept ELSE '{}'::jsonb END;
        child := roost_included(kept -> path[1], document -> path[1], path[2:]);
        RETURN CASE WHEN child IS NULL THEN kept ELSE kept || jsonb_build_object(path[1], child) END;
    ELSIF jsonb_typeof(document) = 'array' THEN
        RETURN (SELECT COALESCE(jsonb_agg(roost_included(kept -> (place - 1)::int, element, path) ORDER BY place), '[]')
            FROM (SELECT element, row_number() OVER (ORDER BY number) AS place
                  FROM jsonb_array_elements(document) WITH ORDINALITY AS e(element, number)
                  WHERE jsonb_typeof(element) IN ('object', 'array')) AS f);
    END IF;
    RETURN NULL;
END
$$;

-- The document without what a path leads to; in arrays on the way, in each object.
CREATE OR REPLACE FUNCTION roost_excluded(document jsonb, path text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF jsonb_typeof(document) = 'array' THEN
        RETURN (SELECT COALESCE(jsonb_agg(roost_excluded(element, path) ORDER BY number), '[]')
            FROM jsonb_array_elements(document) WITH ORDINALITY AS e(element, number));
    ELSIF jsonb_typeof(document) <> 'object' OR document -> path[1] IS NULL THEN
        RETURN document;
    ELSIF cardinality(path) = 1 THEN
        RETURN document - path[1];
    END IF;
    RETURN document || jsonb_build_object(path[1], roost_excluded(document -> path[1], path[2:]));
END
$$;

-- Refuses so many changes inside of a document that their copies of it would be too much.
CREATE OR REPLACE FUNCTION roost_check_changes(changes bigint, document jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF changes > 16 AND changes * octet_length(document::text) > 33554432 THEN
        RAISE EXCEPTION 'So many changes inside of a large object cannot be made at once' USING ERRCODE = 'RS111';
    END IF;
END
$$;

-- The document with members set in what is at a path.
CREATE OR REPLACE FUNCTION roost_merge(document jsonb, path text[], members jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    owner jsonb := document #> path;
    member record;
BEGIN
    IF jsonb_typeof(owner) IS DISTINCT FROM 'array' THEN
        RETURN roost_set(
            document, path, CASE WHEN jsonb_typeof(owner) = 'object' THEN owner ELSE '{}'::jsonb END || members);
    END IF;
    PERFORM roost_check_changes((SELECT count(*) FROM jsonb_object_keys(members)), owner);
    FOR member IN SELECT key, value FROM jsonb_each(members) LOOP
        owner := roost_set(owner, ARRAY[member.key], member.value);
    END LOOP;
    RETURN roost_set(document, path, owner);
END
$$;

-- The document after several changes, in their order. Each is an array: what to do, the path, and the operand. Each copies
-- the whole document.
CREATE OR REPLACE FUNCTION roost_change(document jsonb, changes jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    change jsonb;
    operand jsonb;
    path text[];
BEGIN
    PERFORM roost_check_changes(jsonb_array_length(changes), document);
    FOR change IN SELECT c FROM jsonb_array_elements(changes) AS e(c) LOOP
        path := ARRAY(SELECT jsonb_array_elements_text(change -> 1));
        operand := change -> 2;
        document := CASE change ->> 0
            WHEN 'merge' THEN roost_merge(document, path, operand)
            WHEN 'set' THEN roost_set(document, path, operand)
            WHEN 'delete' THEN roost_unset(document, path)
            WHEN 'increment' THEN roost_set(document, path,
                roost_increment(document #> path, COALESCE((operand #>> '{}')::double precision, 0)))
            WHEN 'add' THEN roost_set(document, path, roost_add(document #> path, operand))
            WHEN 'addUnique' THEN roost_set(document, path, roost_add_unique(document #> path, operand))
            ELSE roost_set(document, path, roost_remove(document #> path, operand))
        END;
    END LOOP;
    RETURN document;
END
$$;

-- The great-circle distance between a point (longitude, latitude in degrees) and a place, in radians. Clients may save
-- points beyond the poles, where rounding leads below 0, of which there is no root.
CREATE OR REPLACE FUNCTION roost_distance(place point, longitude double precision, latitude double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT 2 * asin(sqrt(greatest(0.0, least(1.0,
        power(sin(radians(latitude - place[1]) / 2), 2)
        + cos(radians(latitude)) * cos(radians(place[1])) * power(sin(radians(longitude - place[0]) / 2), 2)))))
$$;

-- A number as JSON; null for NaN and the infinities, which JSON does not have, and of which to_jsonb makes texts. It is as
-- STABLE as to_jsonb: else PostgreSQL would call it for each row, instead of putting its words in its place.
CREATE OR REPLACE FUNCTION roost_json(number double precision) RETURNS jsonb LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN number > '-Infinity' AND number < 'Infinity' THEN to_jsonb(number)
        WHEN number IS NOT NULL THEN 'null'::jsonb END
$$;

-- A number in JSON; NULL for anything else.
CREATE OR REPLACE FUNCTION roost_number(value jsonb) RETURNS double precision LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'number' THEN value::text::double precision END
$$;

-- A value that an aggregation has computed, which may grow with each step or stage.
CREATE OR REPLACE FUNCTION roost_bounded(value jsonb) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF pg_column_size(value) > 16777216 THEN
        RAISE EXCEPTION 'A computed value is larger than 16 MB' USING ERRCODE = 'RS102';
    END IF;
    RETURN value;
END
$$;

-- A number with so many digits behind the point; one in the middle becomes the even one.
CREATE OR REPLACE FUNCTION roost_rounded(number double precision, digits int) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN digits BETWEEN -20 AND 100
        AND abs(number::numeric - round(number::numeric, digits)) * 2 = 10::numeric ^ (-digits)
        THEN round(number::numeric / 2, digits) * 2 ELSE round(number::numeric, digits) END::double precision
$$;

-- An array in JSON; NULL for anything else.
CREATE OR REPLACE FUNCTION roost_array(value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'array' THEN value END
$$;

-- An array in JSON; an error for anything else. What is missing or null is NULL where that is allowed.
CREATE OR REPLACE FUNCTION roost_list(value jsonb, operation text, may_be_null boolean) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF jsonb_typeof(value) = 'array' THEN RETURN value; END IF;
    IF may_be_null AND (value IS NULL OR value = 'null') THEN RETURN NULL; END IF;
    RAISE EXCEPTION '% needs an array', operation USING ERRCODE = 'RS102';
END
$$;

-- The element at a place; a place below zero counts from the end, and one beyond the array has none.
CREATE OR REPLACE FUNCTION roost_element(list jsonb, place jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    number double precision := roost_number(place);
BEGIN
    IF list IS NULL OR list = 'null' OR place IS NULL OR place = 'null' THEN RETURN 'null'; END IF;
    list := roost_list(list, '$arrayElemAt', false);
    IF number IS NULL OR number <> floor(number) OR abs(number) > 2147483647 THEN
        RAISE EXCEPTION '$arrayElemAt needs a whole number of 32 bits' USING ERRCODE = 'RS102';
    END IF;
    RETURN list -> number::int;
END
$$;

-- The elements of all lists, each once; null where one of them is missing.
CREATE OR REPLACE FUNCTION roost_set_union(lists jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN bool_or(list = 'null') THEN 'null'::jsonb ELSE COALESCE((
        SELECT jsonb_agg(element ORDER BY element) FROM (
            SELECT DISTINCT element FROM jsonb_array_elements(lists) AS l(list),
                jsonb_array_elements(roost_list(list, '$setUnion', true)) AS e(element)) AS d), '[]') END
    FROM jsonb_array_elements(lists) AS l(list)
$$;

-- The elements that all lists have, each once; null where one of them is missing.
CREATE OR REPLACE FUNCTION roost_set_intersection(lists jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN bool_or(list = 'null') THEN 'null'::jsonb ELSE COALESCE((
        SELECT jsonb_agg(element ORDER BY element) FROM (
            SELECT element FROM jsonb_array_elements(lists) WITH ORDINALITY AS l(list, place),
                jsonb_array_elements(roost_list(list, '$setIntersection', true)) AS e(element)
            GROUP BY element HAVING count(DISTINCT place) = jsonb_array_length(lists)) AS d), '[]') END
    FROM jsonb_array_elements(lists) AS l(list)
$$;

-- The elements of the first list that the second has not, each once.
CREATE OR REPLACE FUNCTION roost_set_difference(list jsonb, other jsonb, operation text, may_be_null boolean)
RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN roost_list(list, operation, may_be_null) IS NULL OR roost_list(other, operation, may_be_null) IS NULL
        THEN 'null'::jsonb ELSE COALESCE((
            SELECT jsonb_agg(element ORDER BY element) FROM (
                SELECT element FROM jsonb_array_elements(list) AS e(element)
                EXCEPT SELECT element FROM jsonb_array_elements(other) AS o(element)) AS d), '[]') END
$$;

-- Whether all lists have the same elements, whatever their order and number.
CREATE OR REPLACE FUNCTION roost_set_equals(lists jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT to_jsonb(NOT EXISTS (
        SELECT 1 FROM jsonb_array_elements(lists) WITH ORDINALITY AS l(list, place),
            jsonb_array_elements(roost_list(list, '$setEquals', false)) AS e(element)
        GROUP BY element HAVING count(DISTINCT place) < jsonb_array_length(lists))
        AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements(lists) AS l(list)
            WHERE roost_list(list, '$setEquals', false) IS NULL))
$$;

-- The lists one after the other; null where one of them is missing.
CREATE OR REPLACE FUNCTION roost_concatenated(lists jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN bool_or(list = 'null') THEN 'null'::jsonb ELSE COALESCE((
        SELECT roost_bounded(jsonb_agg(element ORDER BY place, position))
        FROM jsonb_array_elements(lists) WITH ORDINALITY AS l(list, place),
            jsonb_array_elements(roost_list(list, '$concatArrays', true)) WITH ORDINALITY AS e(element, position)
    ), '[]') END
    FROM jsonb_array_elements(lists) AS l(list)
$$;

-- The name of a time zone; an error for what is none.
CREATE OR REPLACE FUNCTION roost_zone(name text) RETURNS text LANGUAGE plpgsql STABLE PARALLEL SAFE AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_timezone_names AS z WHERE z.name = roost_zone.name) THEN
        RAISE EXCEPTION 'unrecognized time zone identifier: "%"', name USING ERRCODE = 'RS102';
    END IF;
    RETURN name;
END
$$;

-- A text in JSON, NULL for what is missing or null; an error for anything else.
CREATE OR REPLACE FUNCTION roost_string(value jsonb, operation text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF value IS NULL OR value = 'null' THEN RETURN NULL; END IF;
    IF jsonb_typeof(value) = 'string' THEN RETURN value #>> '{}'; END IF;
    RAISE EXCEPTION '% only supports strings, not %', operation, jsonb_typeof(value) USING ERRCODE = 'RS102';
END
$$;

-- A text, a number or a date in JSON as text, empty for what is missing or null; an error for anything else.
CREATE OR REPLACE FUNCTION roost_text(value jsonb, operation text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF value IS NULL OR value = 'null' THEN RETURN ''; END IF;
    IF jsonb_typeof(value) IN ('string', 'number') THEN RETURN value #>> '{}'; END IF;
    IF jsonb_typeof(value) = 'object' AND value ->> '__type' = 'Date' THEN RETURN value ->> 'iso'; END IF;
    RAISE EXCEPTION '% cannot make a text of type %', operation, jsonb_typeof(value) USING ERRCODE = 'RS102';
END
$$;

-- The texts of a list one after the other; null where one of them is missing.
CREATE OR REPLACE FUNCTION roost_concat(texts jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN bool_or(value = 'null') THEN 'null'::jsonb
        ELSE roost_bounded(to_jsonb(string_agg(roost_string(value, '$concat'), '' ORDER BY place))) END
    FROM jsonb_array_elements(texts) WITH ORDINALITY AS t(value, place)
$$;

-- The parts of a text between separators; null where one of both is missing.
CREATE OR REPLACE FUNCTION roost_split(value jsonb, separator jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    content text := roost_string(value, '$split');
    border text := roost_string(separator, '$split');
BEGIN
    IF content IS NULL OR border IS NULL THEN RETURN 'null'; END IF;
    IF border = '' THEN RAISE EXCEPTION '$split requires a non-empty separator' USING ERRCODE = 'RS102'; END IF;
    IF content = '' THEN RETURN '[""]'; END IF;
    RETURN to_jsonb(string_to_array(content, border));
END
$$;

-- A part of a text, which begins and ends at characters ($substrCP) or bytes. A length below zero means the rest of it.
CREATE OR REPLACE FUNCTION roost_substr(value jsonb, start jsonb, length jsonb, operation text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    content text := roost_text(value, operation);
    first double precision := trunc(roost_number(start));
    most double precision := trunc(roost_number(length));
    bytes bytea;
    border int;
BEGIN
    IF COALESCE(start, 'null') = 'null' OR COALESCE(length, 'null') = 'null' THEN RETURN NULL; END IF;
    IF first IS NULL OR most IS NULL OR abs(first) > 1000000000 OR abs(most) > 1000000000
        OR operation = '$substrCP' AND (first < 0 OR most < 0)
    THEN
        RAISE EXCEPTION '% needs a start and a length that are numbers in its range', operation USING ERRCODE = 'RS102';
    END IF;
    IF operation = '$substrCP' THEN RETURN to_jsonb(substr(content, first::int + 1, most::int)); END IF;
    bytes := convert_to(content, 'UTF8');
    IF first < 0 OR first >= octet_length(bytes) THEN RETURN '""'; END IF;
    IF most < 0 THEN most := 1000000000; END IF;
    FOREACH border IN ARRAY ARRAY[first::int, least(first + most, octet_length(bytes))::int] LOOP
        IF border < octet_length(bytes) AND get_byte(bytes, border) & 192 = 128 THEN
            RAISE EXCEPTION '%: the range cuts a character', operation USING ERRCODE = 'RS102';
        END IF;
    END LOOP;
    RETURN to_jsonb(convert_from(substring(bytes FROM first::int + 1 FOR most::int), 'UTF8'));
END
$$;

-- A value of another type, as $convert makes it; NULL if it cannot be one.
CREATE OR REPLACE FUNCTION roost_converted(value jsonb, target text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    type int := roost_rank(value);
    content text := value #>> '{}';
    number numeric;
BEGIN
    IF target = 'string' THEN
        RETURN CASE type WHEN 2 THEN to_jsonb(trim_scale(content::numeric)::text) WHEN 3 THEN value
            WHEN 4 THEN roost_stored_pointer(value) WHEN 6 THEN to_jsonb(content) WHEN 7 THEN value -> 'iso' END;
    ELSIF target = 'objectId' THEN
        RETURN CASE WHEN type = 3 THEN value END;
    ELSIF target = 'bool' THEN
        RETURN to_jsonb(CASE type WHEN 2 THEN content::numeric <> 0 WHEN 6 THEN content = 'true' ELSE true END);
    ELSIF target = 'date' THEN
        IF type = 2 AND content::numeric BETWEEN -62135596800000 AND 253402300799999 THEN
            RETURN roost_date('epoch'::timestamp + trunc(content::numeric)::float8 * interval '1 millisecond');
        END IF;
        RETURN CASE type WHEN 3 THEN roost_date(roost_moment(content)) WHEN 7 THEN value END;
    END IF;
    IF type = 3 AND octet_length(content) <= 400 AND (content ~ '^[+-]?[0-9]+$' OR target NOT IN ('int', 'long')
        AND content ~ '^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$')
    THEN
        number := content::numeric;
    ELSIF type = 7 AND target <> 'int' THEN
        number := extract(epoch FROM roost_moment(value ->> 'iso'))::numeric * 1000;
    ELSIF type IN (2, 6) THEN
        number := CASE content WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE content::numeric END;
    END IF;
    IF target IN ('int', 'long') THEN
        number := trunc(number);
        IF number NOT BETWEEN -2147483648 AND 2147483647 AND target = 'int' OR abs(number) > 9007199254740992 THEN
            RETURN NULL;
        END IF;
    ELSIF abs(number) > 1.7e308 THEN
        RETURN NULL;
    ELSIF abs(number) < 1e-300 THEN
        number := 0;
    END IF;
    RETURN to_jsonb(number::double precision);
END
$$;

-- The error for a value that cannot be one of another type.
CREATE OR REPLACE FUNCTION roost_failed(value jsonb, target text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF jsonb_typeof(value) = 'string' THEN
        RAISE EXCEPTION 'Failed to parse ''%'' as % in $convert with no onError value', left(value #>> '{}', 100), target
            USING ERRCODE = 'RS102';
    END IF;
    RAISE EXCEPTION 'Unsupported conversion from % to % in $convert with no onError value', roost_type(value), target
        USING ERRCODE = 'RS102';
END
$$;

-- A value of another type, null for what is missing or null; an error for what cannot be one.
CREATE OR REPLACE FUNCTION roost_convert(value jsonb, target text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF value IS NULL OR value = 'null' THEN RETURN 'null'; END IF;
    RETURN COALESCE(roost_converted(value, target), roost_failed(value, target));
END
$$;

-- A text with one occurrence of another replaced, or all of them; null if one of the texts is missing.
CREATE OR REPLACE FUNCTION roost_replaced(value jsonb, find jsonb, replacement jsonb, operation text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    content text := roost_string(value, operation);
    wanted text := roost_string(find, operation);
    other text := roost_string(replacement, operation);
    place int := strpos(content, wanted);
BEGIN
    IF content IS NULL OR wanted IS NULL OR other IS NULL THEN RETURN 'null'; END IF;
    -- How often the text occurs is asked only where it could be too often.
    IF operation = '$replaceAll' AND octet_length(content)::bigint * octet_length(other) > 16777216
        AND octet_length(wanted) > 0
        AND (octet_length(content) - octet_length(replace(content, wanted, '')))::bigint / octet_length(wanted)
            * octet_length(other) > 16777216
    THEN
        RAISE EXCEPTION 'A computed value is larger than 16 MB' USING ERRCODE = 'RS102';
    END IF;
    IF operation = '$replaceAll' THEN RETURN to_jsonb(replace(content, wanted, other)); END IF;
    RETURN to_jsonb(CASE WHEN place = 0 THEN content
        ELSE left(content, place - 1) || other || substr(content, place + length(wanted)) END);
END
$$;

-- A text without certain characters at its ends, or without white space; null if it is missing.
CREATE OR REPLACE FUNCTION roost_trimmed(value jsonb, characters jsonb, operation text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    content text := roost_string(value, operation);
    removed text := roost_string(characters, operation);
BEGIN
    RETURN COALESCE(to_jsonb(CASE operation WHEN '$ltrim' THEN ltrim(content, removed)
        WHEN '$rtrim' THEN rtrim(content, removed) ELSE btrim(content, removed) END), 'null');
END
$$;

-- The place of a text in another, counted in characters from 0, between two places; -1 if it is not there.
CREATE OR REPLACE FUNCTION roost_index(value jsonb, find jsonb, first jsonb, past jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    content text := roost_string(value, '$indexOfCP');
    wanted text := roost_string(find, '$indexOfCP');
    start double precision := CASE WHEN COALESCE(first, 'null') = 'null' THEN 0 ELSE roost_number(first) END;
    border double precision := CASE WHEN COALESCE(past, 'null') = 'null' THEN length(content) ELSE roost_number(past) END;
    place int;
BEGIN
    IF content IS NULL THEN RETURN 'null'; END IF;
    IF wanted IS NULL OR start IS NULL OR border IS NULL OR start <> floor(start) OR border <> floor(border)
        OR start < 0 OR border < 0
    THEN
        RAISE EXCEPTION '$indexOfCP needs a text, and places that are whole numbers from 0' USING ERRCODE = 'RS102';
    END IF;
    IF start > length(content) THEN RETURN '-1'; END IF;
    place := strpos(substr(left(content, least(border, length(content))::int), start::int + 1), wanted);
    RETURN to_jsonb(CASE WHEN place = 0 OR start > border THEN -1 ELSE start::int + place - 1 END);
END
$$;

-- The sum of numbers, or the date so many milliseconds after one date; null if one of them is neither.
CREATE OR REPLACE FUNCTION roost_plus(items jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    item jsonb;
    total double precision := 0;
    moment timestamp;
BEGIN
    FOR item IN SELECT e FROM jsonb_array_elements(items) AS l(e) LOOP
        IF roost_rank(item) = 2 THEN
            total := total + roost_number(item);
        ELSIF roost_rank(item) <> 7 THEN
            RETURN 'null';
        ELSIF moment IS NOT NULL THEN
            RAISE EXCEPTION 'only one date allowed in an $add expression' USING ERRCODE = 'RS102';
        ELSE
            moment := roost_moment(item ->> 'iso');
        END IF;
    END LOOP;
    RETURN COALESCE(roost_date(moment + trunc(total) * interval '1 millisecond'), roost_json(total));
END
$$;

-- The difference of numbers, of two dates in milliseconds, or a date so many milliseconds before another; else null.
CREATE OR REPLACE FUNCTION roost_minus(one jsonb, other jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    moment timestamp := CASE WHEN roost_rank(one) = 7 THEN roost_moment(one ->> 'iso') END;
BEGIN
    IF moment IS NULL THEN RETURN COALESCE(roost_json(roost_number(one) - roost_number(other)), 'null'); END IF;
    IF roost_rank(other) = 7 THEN
        RETURN to_jsonb(round(extract(epoch FROM moment - roost_moment(other ->> 'iso')) * 1000));
    END IF;
    RETURN COALESCE(roost_date(moment - trunc(roost_number(other)) * interval '1 millisecond'), 'null');
END
$$;

-- The name of a value's type, as MongoDB has it.
CREATE OR REPLACE FUNCTION roost_type(value jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE jsonb_typeof(value) WHEN 'number' THEN 'double' WHEN 'boolean' THEN 'bool'
        WHEN 'object' THEN CASE WHEN value ->> '__type' = 'Date' THEN 'date' ELSE 'object' END
        ELSE COALESCE(jsonb_typeof(value), 'missing') END
$$;

-- The error for a $switch without a branch. Volatile, since PostgreSQL computes other functions before it reads rows.
CREATE OR REPLACE FUNCTION roost_unmatched() RETURNS jsonb LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
BEGIN
    RAISE EXCEPTION '$switch could not find a matching branch for an input, and no default was specified.'
        USING ERRCODE = 'RS102';
END
$$;

-- Objects put together, later members in the place of earlier ones; those that are missing or null left out.
CREATE OR REPLACE FUNCTION roost_merged(objects jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    part jsonb;
    result jsonb := '{}';
BEGIN
    FOR part IN SELECT o FROM jsonb_array_elements(objects) AS l(o) WHERE o <> 'null' LOOP
        IF roost_rank(part) <> 4 THEN
            RAISE EXCEPTION '$mergeObjects requires object inputs, not %', roost_type(part) USING ERRCODE = 'RS102';
        END IF;
        result := roost_bounded(result || part);
    END LOOP;
    RETURN result;
END
$$;

-- The members of an object as a list of their names and values; null if it is missing.
CREATE OR REPLACE FUNCTION roost_pairs(value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF value IS NULL OR value = 'null' THEN RETURN 'null'; END IF;
    IF roost_rank(value) <> 4 THEN
        RAISE EXCEPTION '$objectToArray requires an object, not %', roost_type(value) USING ERRCODE = 'RS102';
    END IF;
    RETURN (SELECT COALESCE(jsonb_agg(jsonb_build_object('k', m.key, 'v', m.value)), '[]') FROM jsonb_each(value) AS m);
END
$$;

-- The object of a list of names and values; null if it is missing.
CREATE OR REPLACE FUNCTION roost_paired(list jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    pair jsonb;
    names text[] := '{}';
    items jsonb[] := '{}';
BEGIN
    IF roost_list(list, '$arrayToObject', true) IS NULL THEN RETURN 'null'; END IF;
    FOR pair IN SELECT e FROM jsonb_array_elements(list) AS l(e) LOOP
        IF jsonb_typeof(pair) = 'array' AND jsonb_array_length(pair) = 2 THEN
            pair := jsonb_build_object('k', pair -> 0, 'v', pair -> 1);
        END IF;
        IF jsonb_typeof(pair -> 'k') IS DISTINCT FROM 'string' OR pair -> 'v' IS NULL THEN
            RAISE EXCEPTION '$arrayToObject requires pairs of a text and a value' USING ERRCODE = 'RS102';
        END IF;
        names := names || (pair ->> 'k');
        items := items || (pair -> 'v');
    END LOOP;
    RETURN roost_object(names, items);
END
$$;

-- A list from its end; null if it is missing.
CREATE OR REPLACE FUNCTION roost_reversed(list jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN roost_list(list, '$reverseArray', true) IS NULL THEN 'null'::jsonb ELSE (
        SELECT COALESCE(jsonb_agg(element ORDER BY place DESC), '[]')
        FROM jsonb_array_elements(list) WITH ORDINALITY AS e(element, place)) END
$$;

-- A part of a list: so many elements from its beginning, from its end, or from a place; null if it is missing.
CREATE OR REPLACE FUNCTION roost_slice(list jsonb, first jsonb, most jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    size int := jsonb_array_length(roost_list(list, '$slice', true));
    start double precision := roost_number(first);
    count double precision := roost_number(most);
BEGIN
    IF size IS NULL OR COALESCE(first, 'null') = 'null' OR most = 'null' THEN RETURN 'null'; END IF;
    IF start IS NULL OR start <> floor(start) OR most IS NOT NULL AND (count IS NULL OR count <> floor(count) OR count < 1)
    THEN
        RAISE EXCEPTION '$slice needs whole numbers, and a count from 1 behind a place' USING ERRCODE = 'RS102';
    END IF;
    IF most IS NULL THEN
        count := abs(start);
        IF start > 0 THEN start := 0; END IF;
    END IF;
    start := CASE WHEN start < 0 THEN greatest(size + start, 0) ELSE start END;
    RETURN (SELECT COALESCE(jsonb_agg(element ORDER BY place), '[]')
        FROM jsonb_array_elements(list) WITH ORDINALITY AS e(element, place)
        WHERE place > start AND place <= start + count);
END
$$;

-- The sum, average, least or greatest of values, or of the elements of the only one.
CREATE OR REPLACE FUNCTION roost_folded(items jsonb, operation text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF jsonb_array_length(items) = 1 AND jsonb_typeof(items -> 0) = 'array' THEN items := items -> 0; END IF;
    IF operation = '$sum' THEN
        RETURN (SELECT roost_json(COALESCE(sum(roost_number(e)), 0)) FROM jsonb_array_elements(items) AS l(e));
    ELSIF operation = '$avg' THEN
        RETURN (SELECT COALESCE(roost_json(avg(roost_number(e))), 'null') FROM jsonb_array_elements(items) AS l(e));
    ELSIF operation = '$min' THEN
        RETURN COALESCE((SELECT e FROM jsonb_array_elements(items) AS l(e) WHERE e <> 'null'
            ORDER BY roost_rank(e), e LIMIT 1), 'null');
    END IF;
    RETURN COALESCE((SELECT e FROM jsonb_array_elements(items) AS l(e) WHERE e <> 'null'
        ORDER BY roost_rank(e) DESC, e DESC LIMIT 1), 'null');
END
$$;

-- What an expression takes for true: everything but null, false and 0.
CREATE OR REPLACE FUNCTION roost_truth(value jsonb) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT COALESCE(value NOT IN ('null', 'false', '0'), false)
$$;

-- The moment that an ISO 8601 text names, in UTC if it has no zone; NULL for other texts. Nothing is left to PostgreSQL's
-- own reading of dates: it raises an error for a day that no calendar has.
CREATE OR REPLACE FUNCTION roost_moment(content text) RETURNS timestamp LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    part text[] := regexp_match(content, '^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?'
        '(Z|z|[+-]\d\d(?::?\d\d)?)?$');
    shift interval := '0';
BEGIN
    IF part IS NULL OR part[1] = '0000' OR part[2] NOT BETWEEN '01' AND '12' OR part[3] = '00'
        OR COALESCE(part[4] > '23' OR part[5] > '59' OR part[6] > '59', false)
        OR part[3]::int > extract(day FROM make_date(part[1]::int, part[2]::int, 1) + interval '1 month -1 day')
    THEN
        RETURN NULL;
    END IF;
    IF length(part[8]) > 1 THEN
        shift := make_interval(
            hours => left(part[8], 3)::int,
            mins => (left(part[8], 1) || COALESCE(NULLIF(right(replace(part[8], ':', ''), -3), ''), '0'))::int);
    END IF;
    RETURN make_timestamp(part[1]::int, part[2]::int, part[3]::int, COALESCE(part[4], '0')::int,
        COALESCE(part[5], '0')::int, (COALESCE(part[6], '0') || '.' || left(COALESCE(part[7], '0'), 3))::float8) - shift;
END
$$;

-- A date in JSON, or a text that names one, in UTC; NULL for anything else.
CREATE OR REPLACE FUNCTION roost_time(value jsonb) RETURNS timestamp LANGUAGE sql STABLE PARALLEL SAFE AS $$
    -- Days up to the 28th exist in every month. PostgreSQL reads these faster than roost_moment does.
    SELECT CASE WHEN text ~ ('^(?!0000)[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])T'
        '([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,3})?Z$')
        THEN text::timestamp with time zone AT TIME ZONE 'UTC' WHEN text IS NOT NULL THEN roost_moment(text) END
    FROM (SELECT CASE jsonb_typeof(value) WHEN 'object' THEN value ->> 'iso' WHEN 'string' THEN value #>> '{}' END
    ) AS t(text)
$$;

-- The place of a value's type in the order of MongoDB: missing, null, numbers, texts, objects, arrays, booleans, dates.
CREATE OR REPLACE FUNCTION roost_rank(value jsonb) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE jsonb_typeof(value) WHEN 'null' THEN 1 WHEN 'number' THEN 2 WHEN 'string' THEN 3
        WHEN 'object' THEN CASE WHEN value ->> '__type' = 'Date' THEN 7 ELSE 4 END
        WHEN 'array' THEN 5 WHEN 'boolean' THEN 6 ELSE 0 END
$$;

-- A time in UTC as a date in JSON; an error for years that four digits cannot write.
CREATE OR REPLACE FUNCTION roost_date(moment timestamp) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    IF moment < '0001-01-01' OR moment >= '10000-01-01' THEN
        RAISE EXCEPTION 'A date must lie between the years 1 and 9999' USING ERRCODE = 'RS102';
    END IF;
    RETURN CASE WHEN moment IS NOT NULL THEN jsonb_build_object(
        '__type', 'Date', 'iso', to_char(moment, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) END;
END
$$;

-- A text that names a moment as the date in JSON; other texts as they are.
CREATE OR REPLACE FUNCTION roost_dated(value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    RETURN COALESCE(roost_date(roost_moment(value #>> '{}')), value);
END
$$;

-- Below, at or above 0 for values in the order of MongoDB. A text that names a moment counts as a date beside a date. Most
-- values have the same simple type.
CREATE OR REPLACE FUNCTION roost_compare(one jsonb, other jsonb) RETURNS int
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    first int;
    second int;
    type text := jsonb_typeof(one);
BEGIN
    IF type <> 'object' AND type = jsonb_typeof(other) THEN
        RETURN CASE WHEN one < other THEN -1 WHEN one > other THEN 1 ELSE 0 END;
    END IF;
    first := roost_rank(one);
    second := roost_rank(other);
    IF first = 7 AND second = 3 THEN
        other := roost_dated(other);
        second := roost_rank(other);
    ELSIF first = 3 AND second = 7 THEN
        one := roost_dated(one);
        first := roost_rank(one);
    END IF;
    RETURN CASE WHEN first <> second THEN first - second WHEN one < other THEN -1 WHEN one > other THEN 1 ELSE 0 END;
END
$$;

-- The lower border of the range of a value, or the other value if it is outside of all; an error if there is none.
CREATE OR REPLACE FUNCTION roost_bucket(value jsonb, borders jsonb, otherwise jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    low int := 0;
    high int := jsonb_array_length(borders) - 1;
    middle int;
BEGIN
    IF roost_compare(value, borders -> low) < 0 OR roost_compare(value, borders -> high) >= 0 THEN
        IF otherwise IS NULL THEN
            RAISE EXCEPTION '$switch could not find a matching branch for an input, and no default was specified.'
                USING ERRCODE = 'RS102';
        END IF;
        RETURN otherwise;
    END IF;
    WHILE high - low > 1 LOOP
        middle := (low + high) / 2;
        IF roost_compare(value, borders -> middle) < 0 THEN high := middle; ELSE low := middle; END IF;
    END LOOP;
    RETURN borders -> low;
END
$$;

-- What a path leads to, as expressions go: an array on the way stands for the array of what the path leads to from each
-- of its objects. NULL if it leads to nothing.
CREATE OR REPLACE FUNCTION roost_reached(value jsonb, path text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    FOR place IN 1..cardinality(path) LOOP
        IF jsonb_typeof(value) = 'array' AND path[place] !~ '^[0-9]+$' THEN
            RETURN (SELECT COALESCE(jsonb_agg(leaf ORDER BY number), '[]')
                FROM (SELECT roost_reached(element, path[place:]) AS leaf, number
                      FROM jsonb_array_elements(value) WITH ORDINALITY AS e(element, number)
                      WHERE jsonb_typeof(element) = 'object' OFFSET 0) AS f WHERE leaf IS NOT NULL);
        END IF;
        value := value #> path[place:place];
    END LOOP;
    RETURN value;
END
$$;

-- An object of the values that are there.
CREATE OR REPLACE FUNCTION roost_object(names text[], items jsonb[]) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT COALESCE(jsonb_object_agg(name, item) FILTER (WHERE item IS NOT NULL), '{}')
    FROM unnest(names, items) AS m(name, item)
$$;

-- The document with a computed field, or without it if the value is missing.
CREATE OR REPLACE FUNCTION roost_put(document jsonb, path text[], value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF value IS NULL THEN
        RETURN CASE WHEN document #> path IS NULL THEN document ELSE roost_unset(document, path) END;
    END IF;
    RETURN roost_bounded(roost_set(document, path, value));
END
$$;

-- The document with an object at a path, into which fields are put; an array stays.
CREATE OR REPLACE FUNCTION roost_opened(document jsonb, path text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF jsonb_typeof(document #> path) IN ('object', 'array') THEN RETURN document; END IF;
    RETURN roost_set(document, path, '{}');
END
$$;

-- The document that a stage makes of its input; an error for other values.
CREATE OR REPLACE FUNCTION roost_root(value jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF roost_rank(value) = 4 THEN RETURN value; END IF;
    RAISE EXCEPTION '''newRoot'' expression must evaluate to an object, but resulting value was of type %',
        COALESCE(jsonb_typeof(value), 'missing') USING ERRCODE = 'RS102';
END
$$;

-- The week of a year, whose weeks begin with Sundays; the days before the first one are week 0.
CREATE OR REPLACE FUNCTION roost_week(moment timestamp) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (extract(doy FROM moment)::int + 6 - extract(dow FROM moment)::int) / 7
$$;

-- The beginning of the period of a time, which is so many units long. Periods are counted from the year 2000, weeks from
-- the first one in it that begins with the day, whose number is that of ISO 8601.
CREATE OR REPLACE FUNCTION roost_truncated(moment timestamp, unit text, size int, first_day int) RETURNS timestamp
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    origin timestamp := '2000-01-01';
    length double precision;
    months bigint;
BEGIN
    IF unit IN ('year', 'quarter', 'month') THEN
        size := size * CASE unit WHEN 'year' THEN 12 WHEN 'quarter' THEN 3 ELSE 1 END;
        months := (extract(year FROM moment)::bigint - 2000) * 12 + extract(month FROM moment)::bigint - 1;
        RETURN origin + make_interval(months => (floor(months::numeric / size) * size)::int);
    END IF;
    IF unit = 'week' THEN
        -- It was a Saturday.
        origin := origin + make_interval(days => (first_day + 1) % 7);
    END IF;
    length := size::double precision * CASE unit WHEN 'week' THEN 604800 WHEN 'day' THEN 86400 WHEN 'hour' THEN 3600
        WHEN 'minute' THEN 60 WHEN 'second' THEN 1 ELSE 0.001 END;
    RETURN date_trunc('milliseconds', origin + make_interval(
        secs => floor(round(extract(epoch FROM moment - origin)::numeric * 1000) / (length * 1000)::numeric)::float8 * length)
        + interval '0.1 milliseconds');
END
$$;

-- A time so many units later; an error for parts of a unit.
CREATE OR REPLACE FUNCTION roost_later(moment timestamp, unit text, amount double precision) RETURNS timestamp
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF amount <> floor(amount) OR abs(amount) > 1e15 THEN
        RAISE EXCEPTION 'The amount of a date must be a whole number in its range' USING ERRCODE = 'RS102';
    END IF;
    IF unit IN ('hour', 'minute', 'second', 'millisecond') THEN
        RETURN moment + amount * CASE unit WHEN 'hour' THEN interval '1 hour' WHEN 'minute' THEN interval '1 minute'
            WHEN 'second' THEN interval '1 second' ELSE interval '1 millisecond' END;
    ELSIF abs(amount) > 4000000 THEN
        RAISE EXCEPTION 'The amount of a date must be a whole number in its range' USING ERRCODE = 'RS102';
    END IF;
    RETURN moment + CASE unit WHEN 'year' THEN make_interval(months => amount::int * 12)
        WHEN 'quarter' THEN make_interval(months => amount::int * 3)
        WHEN 'month' THEN make_interval(months => amount::int)
        WHEN 'week' THEN make_interval(days => amount::int * 7) ELSE make_interval(days => amount::int) END;
END
$$;

-- How many borders of units lie between two times.
CREATE OR REPLACE FUNCTION roost_borders(start timestamp, past timestamp, unit text, first_day int) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    one timestamp := roost_truncated(start, unit, 1, first_day);
    other timestamp := roost_truncated(past, unit, 1, first_day);
    months bigint;
BEGIN
    IF unit IN ('year', 'quarter', 'month') THEN
        months := (extract(year FROM other) - extract(year FROM one)) * 12 + extract(month FROM other) - extract(month FROM one);
        RETURN months / CASE unit WHEN 'year' THEN 12 WHEN 'quarter' THEN 3 ELSE 1 END;
    END IF;
    RETURN round(extract(epoch FROM other - one)::numeric * 1000 / CASE unit WHEN 'week' THEN 604800000 WHEN 'day' THEN 86400000
        WHEN 'hour' THEN 3600000 WHEN 'minute' THEN 60000 WHEN 'second' THEN 1000 ELSE 1 END);
END
$$;

-- The date that a text names by a pattern, whose groups are year, month and so on by their letters, or by ISO 8601 without
-- a pattern. A zone is a name, or an offset in minutes, for texts that name none. NULL for other texts.
CREATE OR REPLACE FUNCTION roost_parsed(value jsonb, pattern text, letters text, zone text) RETURNS jsonb
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    content text := CASE WHEN jsonb_typeof(value) = 'string' THEN value #>> '{}' END;
    part text[] := regexp_match(content, pattern);
    found_part text;
    moment timestamp;
    day text;
    iso text := '';
BEGIN
    IF pattern IS NULL THEN
        moment := roost_moment(content);
    ELSIF part IS NOT NULL AND strpos(letters, 'Y') > 0 THEN
        part := part || ARRAY['01', '01', '00', '00', '00', '0', ''];
        FOR number IN 1..7 LOOP
            -- A specifier that the format leaves out has the default behind the parts.
            found_part := part[CASE WHEN strpos(letters, substr('mdHMSLz', number, 1)) > 0
                THEN strpos(letters, substr('mdHMSLz', number, 1)) ELSE length(letters) + number END];
            iso := iso || substr('--T::.', number, 1) || CASE WHEN number < 6 THEN lpad(found_part, 2, '0') ELSE found_part END;
        END LOOP;
        content := part[strpos(letters, 'Y')] || iso;
        moment := roost_moment(content);
        day := part[NULLIF(strpos(letters, 'j'), 0)];
        IF day IS NOT NULL THEN
            IF day::int NOT BETWEEN 1 AND 366 THEN RETURN NULL; END IF;
            moment := moment + make_interval(days => day::int - 1);
        END IF;
    END IF;
    IF zone IS NOT NULL AND content !~ '[Tt ].*(Z|z|[+-][0-9:]+)$' THEN
        moment := CASE WHEN zone ~ '^-?[0-9]+$' THEN moment - make_interval(mins => zone::int)
            ELSE moment AT TIME ZONE zone AT TIME ZONE 'UTC' END;
    END IF;
    RETURN roost_date(moment);
END
$$;

-- What two values are compared by when objects are looked up: a pointer counts as the id of its object.
CREATE OR REPLACE FUNCTION roost_key(value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'object' AND value ->> '__type' = 'Pointer' THEN value -> 'objectId'
        ELSE value END
$$;

-- The same for a look-up in one class: a pointer to another class is nothing.
CREATE OR REPLACE FUNCTION roost_key(value jsonb, class_name text) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'object' AND value ->> '__type' = 'Pointer'
        THEN CASE WHEN value ->> 'className' = class_name THEN value -> 'objectId' END ELSE value END
$$;

-- The values by which a field is looked up: its own, or those of its elements, pointers to another class than one that is
-- named left out. A missing field counts as null.
CREATE OR REPLACE FUNCTION roost_keys(value jsonb, class_name text) RETURNS jsonb[]
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    IF jsonb_typeof(value) IS DISTINCT FROM 'array' THEN value := jsonb_build_array(value); END IF;
    RETURN ARRAY(SELECT key FROM (
        SELECT CASE WHEN class_name IS NULL THEN roost_key(element) ELSE roost_key(element, class_name) END AS key
        FROM jsonb_array_elements(value) AS e(element)) AS k WHERE key IS NOT NULL);
END
$$;

-- A pointer as the text that MongoDB stores, such as Person$id; NULL for anything else.
CREATE OR REPLACE FUNCTION roost_stored_pointer(value jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'object' AND value ->> '__type' = 'Pointer'
        THEN to_jsonb((value ->> 'className') || '$' || (value ->> 'objectId')) END
$$;

-- The id in such a text, whose class stands before; NULL for anything else.
CREATE OR REPLACE FUNCTION roost_stored_id(value jsonb, class_name text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(value) = 'string' AND starts_with(value #>> '{}', class_name)
        THEN substr(value #>> '{}', length(class_name) + 1) END
$$;

-- The document without the value at a path. An element of an array becomes null, so that the others keep their places.
CREATE OR REPLACE FUNCTION roost_unset(document jsonb, path text[]) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN jsonb_typeof(document #> path[:cardinality(path) - 1]) = 'array' THEN
        CASE WHEN document #> path IS NULL THEN document ELSE jsonb_set(document, path, 'null') END
    ELSE document #- path END
$$;

-- What a path leads to, as MongoDB goes: through the members of objects; in an array through every element that is an
-- object, and through the element at a place when the step is a number. A row without a leaf stands for a way that ends
-- before the path does. Whole is a leaf that is an array and was asked for by its place: it does not count by its
-- elements.
CREATE OR REPLACE FUNCTION roost_leaves(
    value jsonb, path text[], is_element boolean DEFAULT false, OUT leaf jsonb, OUT is_whole boolean)
RETURNS SETOF record LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE ROWS 2 AS $$
BEGIN
    WHILE jsonb_typeof(value) = 'object' AND cardinality(path) > 0 LOOP
        value := value -> path[1];
        path := path[2:];
        is_element := false;
    END LOOP;
    is_whole := false;
    IF cardinality(path) = 0 THEN
        leaf := value;
        is_whole := is_element AND jsonb_typeof(value) = 'array';
        RETURN NEXT;
    ELSIF jsonb_typeof(value) = 'array' THEN
        -- Step by step, each value once for each step: where a number is a place as well as the name of a member, there
        -- can be more ways to a value than anybody could go.
        RETURN QUERY WITH RECURSIVE reached(depth, v, is_place) AS (
            SELECT 0, value, is_element
          UNION
            SELECT depth + 1, next.v, next.is_place FROM reached, LATERAL (
                SELECT reached.v -> path[depth + 1], false WHERE jsonb_typeof(reached.v) = 'object'
              UNION ALL
                SELECT reached.v -> CASE WHEN path[depth + 1] ~ '^(0|[1-9][0-9]{0,8})$' THEN path[depth + 1]::int END, true
                WHERE jsonb_typeof(reached.v) = 'array' AND CASE WHEN path[depth + 1] ~ '^(0|[1-9][0-9]{0,8})$'
                    THEN path[depth + 1]::int < jsonb_array_length(reached.v) END
              UNION ALL
                SELECT element -> path[depth + 1], false
                FROM jsonb_array_elements(CASE WHEN jsonb_typeof(reached.v) = 'array' THEN reached.v END) AS e(element)
                WHERE jsonb_typeof(element) = 'object') AS next(v, is_place)
            WHERE depth < cardinality(path))
        SELECT CASE WHEN depth = cardinality(path) THEN v END,
            depth = cardinality(path) AND is_place AND jsonb_typeof(v) = 'array'
        FROM reached WHERE depth = cardinality(path)
            OR (COALESCE(jsonb_typeof(v) NOT IN ('object', 'array'), true) AND NOT is_place);
    ELSIF NOT is_element THEN
        RETURN NEXT;
    END IF;
END
$$;

-- A value that is asked about: itself, and its elements when it is an array; what a path leads to likewise.
CREATE OR REPLACE FUNCTION roost_elements(value jsonb) RETURNS SETOF jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT value UNION ALL SELECT jsonb_array_elements(CASE WHEN jsonb_typeof(value) = 'array' THEN value END)
$$;
CREATE OR REPLACE FUNCTION roost_elements(container jsonb, path jsonpath) RETURNS SETOF jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 10 AS $$
    SELECT v FROM jsonb_path_query(container, path) AS l(leaf), LATERAL (SELECT leaf AS v UNION ALL
        SELECT jsonb_array_elements(CASE WHEN jsonb_typeof(leaf) = 'array' THEN leaf END)) AS c
$$;

-- A text without accents.
CREATE OR REPLACE FUNCTION roost_unaccented(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT regexp_replace(normalize(value, NFD), '[\u0300-\u036F]', '', 'g')
$$;

-- A text in which every capital is marked, so that a dictionary that folds case still tells it from a small letter.
-- The mark stands in front and has no vowel, because stems are cut by the vowels of a word.
CREATE OR REPLACE FUNCTION roost_cased(value text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT regexp_replace(value, '([[:upper:]])', 'zqzq\1', 'g')
$$;

-- A user name or an address without the difference between capital and small letters: Unicode's simple case folding
-- (14.0.0), the same in every cluster, whatever its lc_ctype and its libraries are. What no index can hold is folded in
-- ASCII only, so that the time of a call is bounded.
CREATE OR REPLACE FUNCTION roost_fold(name text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    IF octet_length(name) = char_length(name) OR octet_length(name) > 2704 THEN
        RETURN lower(name COLLATE "C");
    END IF;
    RETURN lower(translate(name,
        'µÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽſƁƂƄƆƇƉ'
        'ƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠƢƤƦƧƩƬƮƯƱƲƳƵƷƸƼǄǅǇǈǊǋǍǏǑǓǕǗǙǛǞǠǢǤǦǨǪǬǮǱǲǴǶǷǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȠȢȤȦȨȪȬȮȰȲȺȻȽȾɁɃɄɅɆɈɊɌ'
        'ɎͅͰͲͶͿΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫςϏϐϑϕϖϘϚϜϞϠϢϤϦϨϪϬϮϰϱϴϵϷϹϺϽϾϿЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПР'
        'СТУФХЦЧШЩЪЫЬЭЮЯѠѢѤѦѨѪѬѮѰѲѴѶѸѺѼѾҀҊҌҎҐҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺҼҾӀӁӃӅӇӉӋӍӐӒӔӖӘӚӜӞӠӢӤӦӨӪӬӮӰӲӴӶӸӺӼӾԀԂԄԆԈԊԌԎԐ'
        'ԒԔԖԘԚԜԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖႠႡႢႣႤႥႦႧႨႩႪႫႬႭႮႯႰႱႲႳႴႵႶႷႸႹႺႻႼႽႾႿჀჁჂჃჄჅჇჍᏸᏹᏺᏻᏼᏽᲀ'
        'ᲁᲂᲃᲄᲅᲆᲇᲈᲐᲑᲒᲓᲔᲕᲖᲗᲘᲙᲚᲛᲜᲝᲞᲟᲠᲡᲢᲣᲤᲥᲦᲧᲨᲩᲪᲫᲬᲭᲮᲯᲰᲱᲲᲳᲴᲵᲶᲷᲸᲹᲺᲽᲾᲿḀḂḄḆḈḊḌḎḐḒḔḖḘḚḜḞḠḢḤḦḨḪḬḮḰḲḴḶḸḺḼḾṀṂṄṆṈṊṌṎṐṒṔṖṘṚ'
        'ṜṞṠṢṤṦṨṪṬṮṰṲṴṶṸṺṼṾẀẂẄẆẈẊẌẎẐẒẔẛẞẠẢẤẦẨẪẬẮẰẲẴẶẸẺẼẾỀỂỄỆỈỊỌỎỐỒỔỖỘỚỜỞỠỢỤỦỨỪỬỮỰỲỴỶỸỺỼỾἈἉἊἋἌἍἎἏἘἙἚἛἜἝἨἩἪἫἬἭἮ'
        'ἯἸἹἺἻἼἽἾἿὈὉὊὋὌὍὙὛὝὟὨὩὪὫὬὭὮὯᾈᾉᾊᾋᾌᾍᾎᾏᾘᾙᾚᾛᾜᾝᾞᾟᾨᾩᾪᾫᾬᾭᾮᾯᾸᾹᾺΆᾼιῈΈῊΉῌῘῙῚΊῨῩῪΎῬῸΌῺΏῼΩKÅℲⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫⅬⅭⅮⅯↃⒶⒷⒸ'
        'ⒹⒺⒻⒼⒽⒾⒿⓀⓁⓂⓃⓄⓅⓆⓇⓈⓉⓊⓋⓌⓍⓎⓏⰀⰁⰂⰃⰄⰅⰆⰇⰈⰉⰊⰋⰌⰍⰎⰏⰐⰑⰒⰓⰔⰕⰖⰗⰘⰙⰚⰛⰜⰝⰞⰟⰠⰡⰢⰣⰤⰥⰦⰧⰨⰩⰪⰫⰬⰭⰮⰯⱠⱢⱣⱤⱧⱩⱫⱭⱮⱯⱰⱲⱵⱾⱿⲀⲂⲄⲆⲈⲊⲌⲎⲐⲒⲔⲖⲘⲚ'
        'ⲜⲞⲠⲢⲤⲦⲨⲪⲬⲮⲰⲲⲴⲶⲸⲺⲼⲾⳀⳂⳄⳆⳈⳊⳌⳎⳐⳒⳔⳖⳘⳚⳜⳞⳠⳢⳫⳭⳲꙀꙂꙄꙆꙈꙊꙌꙎꙐꙒꙔꙖꙘꙚꙜꙞꙠꙢꙤꙦꙨꙪꙬꚀꚂꚄꚆꚈꚊꚌꚎꚐꚒꚔꚖꚘꚚꜢꜤꜦꜨꜪꜬꜮꜲꜴꜶꜸꜺꜼꜾꝀꝂꝄꝆꝈꝊꝌꝎꝐꝒ'
        'ꝔꝖꝘꝚꝜꝞꝠꝢꝤꝦꝨꝪꝬꝮꝹꝻꝽꝾꞀꞂꞄꞆꞋꞍꞐꞒꞖꞘꞚꞜꞞꞠꞢꞤꞦꞨꞪꞫꞬꞭꞮꞰꞱꞲꞳꞴꞶꞸꞺꞼꞾꟀꟂꟄꟅꟆꟇꟉꟐꟖꟘꟵꭰꭱꭲꭳꭴꭵꭶꭷꭸꭹꭺꭻꭼꭽꭾꭿꮀꮁꮂꮃꮄꮅꮆꮇꮈꮉꮊꮋꮌꮍꮎꮏꮐꮑꮒꮓꮔꮕ'
        'ꮖꮗꮘꮙꮚꮛꮜꮝꮞꮟꮠꮡꮢꮣꮤꮥꮦꮧꮨꮩꮪꮫꮬꮭꮮꮯꮰꮱꮲꮳꮴꮵꮶꮷꮸꮹꮺꮻꮼꮽꮾꮿＡＢＣＤＥＦＧＨＩＪＫＬＭＮＯＰＱＲＳＴＵＶＷＸＹＺ𐐀𐐁𐐂𐐃𐐄𐐅𐐆𐐇𐐈𐐉𐐊𐐋𐐌𐐍𐐎𐐏𐐐𐐑𐐒𐐓𐐔𐐕𐐖𐐗𐐘𐐙𐐚𐐛𐐜𐐝𐐞𐐟'
        '𐐠𐐡𐐢𐐣𐐤𐐥𐐦𐐧𐒰𐒱𐒲𐒳𐒴𐒵𐒶𐒷𐒸𐒹𐒺𐒻𐒼𐒽𐒾𐒿𐓀𐓁𐓂𐓃𐓄𐓅𐓆𐓇𐓈𐓉𐓊𐓋𐓌𐓍𐓎𐓏𐓐𐓑𐓒𐓓𐕰𐕱𐕲𐕳𐕴𐕵𐕶𐕷𐕸𐕹𐕺𐕼𐕽𐕾𐕿𐖀𐖁𐖂𐖃𐖄𐖅𐖆𐖇𐖈𐖉𐖊𐖌𐖍𐖎𐖏𐖐𐖑𐖒𐖔𐖕𐲀𐲁𐲂𐲃𐲄𐲅𐲆𐲇𐲈𐲉𐲊𐲋𐲌𐲍𐲎𐲏𐲐𐲑𐲒𐲓𐲔'
        '𐲕𐲖𐲗𐲘𐲙𐲚𐲛𐲜𐲝𐲞𐲟𐲠𐲡𐲢𐲣𐲤𐲥𐲦𐲧𐲨𐲩𐲪𐲫𐲬𐲭𐲮𐲯𐲰𐲱𐲲𑢠𑢡𑢢𑢣𑢤𑢥𑢦𑢧𑢨𑢩𑢪𑢫𑢬𑢭𑢮𑢯𑢰𑢱𑢲𑢳𑢴𑢵𑢶𑢷𑢸𑢹𑢺𑢻𑢼𑢽𑢾𑢿𖹀𖹁𖹂𖹃𖹄𖹅𖹆𖹇𖹈𖹉𖹊𖹋𖹌𖹍𖹎𖹏𖹐𖹑𖹒𖹓𖹔𖹕𖹖𖹗𖹘𖹙𖹚𖹛𖹜𖹝𖹞𖹟𞤀𞤁𞤂𞤃𞤄𞤅'
        '𞤆𞤇𞤈𞤉𞤊𞤋𞤌𞤍𞤎𞤏𞤐𞤑𞤒𞤓𞤔𞤕𞤖𞤗𞤘𞤙𞤚𞤛𞤜𞤝𞤞𞤟𞤠𞤡',
        'μàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžsɓƃƅɔƈɖ'
        'ɗƌǝəɛƒɠɣɩɨƙɯɲɵơƣƥʀƨʃƭʈưʊʋƴƶʒƹƽǆǆǉǉǌǌǎǐǒǔǖǘǚǜǟǡǣǥǧǩǫǭǯǳǳǵƕƿǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟƞȣȥȧȩȫȭȯȱȳⱥȼƚⱦɂƀʉʌɇɉɋɍ'
        'ɏιͱͳͷϳάέήίόύώαβγδεζηθικλμνξοπρστυφχψωϊϋσϗβθφπϙϛϝϟϡϣϥϧϩϫϭϯκρθεϸϲϻͻͼͽѐёђѓєѕіїјљњћќѝўџабвгдежзийклмнопр'
        'стуфхцчшщъыьэюяѡѣѥѧѩѫѭѯѱѳѵѷѹѻѽѿҁҋҍҏґғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹһҽҿӏӂӄӆӈӊӌӎӑӓӕӗәӛӝӟӡӣӥӧөӫӭӯӱӳӵӷӹӻӽӿԁԃԅԇԉԋԍԏԑ'
        'ԓԕԗԙԛԝԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆⴀⴁⴂⴃⴄⴅⴆⴇⴈⴉⴊⴋⴌⴍⴎⴏⴐⴑⴒⴓⴔⴕⴖⴗⴘⴙⴚⴛⴜⴝⴞⴟⴠⴡⴢⴣⴤⴥⴧⴭᏰᏱᏲᏳᏴᏵв'
        'досттъѣꙋაბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰჱჲჳჴჵჶჷჸჹჺჽჾჿḁḃḅḇḉḋḍḏḑḓḕḗḙḛḝḟḡḣḥḧḩḫḭḯḱḳḵḷḹḻḽḿṁṃṅṇṉṋṍṏṑṓṕṗṙṛ'
        'ṝṟṡṣṥṧṩṫṭṯṱṳṵṷṹṻṽṿẁẃẅẇẉẋẍẏẑẓẕṡßạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹỻỽỿἀἁἂἃἄἅἆἇἐἑἒἓἔἕἠἡἢἣἤἥἦ'
        'ἧἰἱἲἳἴἵἶἷὀὁὂὃὄὅὑὓὕὗὠὡὢὣὤὥὦὧᾀᾁᾂᾃᾄᾅᾆᾇᾐᾑᾒᾓᾔᾕᾖᾗᾠᾡᾢᾣᾤᾥᾦᾧᾰᾱὰάᾳιὲέὴήῃῐῑὶίῠῡὺύῥὸόὼώῳωkåⅎⅰⅱⅲⅳⅴⅵⅶⅷⅸⅹⅺⅻⅼⅽⅾⅿↄⓐⓑⓒ'
        'ⓓⓔⓕⓖⓗⓘⓙⓚⓛⓜⓝⓞⓟⓠⓡⓢⓣⓤⓥⓦⓧⓨⓩⰰⰱⰲⰳⰴⰵⰶⰷⰸⰹⰺⰻⰼⰽⰾⰿⱀⱁⱂⱃⱄⱅⱆⱇⱈⱉⱊⱋⱌⱍⱎⱏⱐⱑⱒⱓⱔⱕⱖⱗⱘⱙⱚⱛⱜⱝⱞⱟⱡɫᵽɽⱨⱪⱬɑɱɐɒⱳⱶȿɀⲁⲃⲅⲇⲉⲋⲍⲏⲑⲓⲕⲗⲙⲛ'
        'ⲝⲟⲡⲣⲥⲧⲩⲫⲭⲯⲱⲳⲵⲷⲹⲻⲽⲿⳁⳃⳅⳇⳉⳋⳍⳏⳑⳓⳕⳗⳙⳛⳝⳟⳡⳣⳬⳮⳳꙁꙃꙅꙇꙉꙋꙍꙏꙑꙓꙕꙗꙙꙛꙝꙟꙡꙣꙥꙧꙩꙫꙭꚁꚃꚅꚇꚉꚋꚍꚏꚑꚓꚕꚗꚙꚛꜣꜥꜧꜩꜫꜭꜯꜳꜵꜷꜹꜻꜽꜿꝁꝃꝅꝇꝉꝋꝍꝏꝑꝓ'
        'ꝕꝗꝙꝛꝝꝟꝡꝣꝥꝧꝩꝫꝭꝯꝺꝼᵹꝿꞁꞃꞅꞇꞌɥꞑꞓꞗꞙꞛꞝꞟꞡꞣꞥꞧꞩɦɜɡɬɪʞʇʝꭓꞵꞷꞹꞻꞽꞿꟁꟃꞔʂᶎꟈꟊꟑꟗꟙꟶᎠᎡᎢᎣᎤᎥᎦᎧᎨᎩᎪᎫᎬᎭᎮᎯᎰᎱᎲᎳᎴᎵᎶᎷᎸᎹᎺᎻᎼᎽᎾᎿᏀᏁᏂᏃᏄᏅ'
        'ᏆᏇᏈᏉᏊᏋᏌᏍᏎᏏᏐᏑᏒᏓᏔᏕᏖᏗᏘᏙᏚᏛᏜᏝᏞᏟᏠᏡᏢᏣᏤᏥᏦᏧᏨᏩᏪᏫᏬᏭᏮᏯａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ𐐨𐐩𐐪𐐫𐐬𐐭𐐮𐐯𐐰𐐱𐐲𐐳𐐴𐐵𐐶𐐷𐐸𐐹𐐺𐐻𐐼𐐽𐐾𐐿𐑀𐑁𐑂𐑃𐑄𐑅𐑆𐑇'
        '𐑈𐑉𐑊𐑋𐑌𐑍𐑎𐑏𐓘𐓙𐓚𐓛𐓜𐓝𐓞𐓟𐓠𐓡𐓢𐓣𐓤𐓥𐓦𐓧𐓨𐓩𐓪𐓫𐓬𐓭𐓮𐓯𐓰𐓱𐓲𐓳𐓴𐓵𐓶𐓷𐓸𐓹𐓺𐓻𐖗𐖘𐖙𐖚𐖛𐖜𐖝𐖞𐖟𐖠𐖡𐖣𐖤𐖥𐖦𐖧𐖨𐖩𐖪𐖫𐖬𐖭𐖮𐖯𐖰𐖱𐖳𐖴𐖵𐖶𐖷𐖸𐖹𐖻𐖼𐳀𐳁𐳂𐳃𐳄𐳅𐳆𐳇𐳈𐳉𐳊𐳋𐳌𐳍𐳎𐳏𐳐𐳑𐳒𐳓𐳔'
        '𐳕𐳖𐳗𐳘𐳙𐳚𐳛𐳜𐳝𐳞𐳟𐳠𐳡𐳢𐳣𐳤𐳥𐳦𐳧𐳨𐳩𐳪𐳫𐳬𐳭𐳮𐳯𐳰𐳱𐳲𑣀𑣁𑣂𑣃𑣄𑣅𑣆𑣇𑣈𑣉𑣊𑣋𑣌𑣍𑣎𑣏𑣐𑣑𑣒𑣓𑣔𑣕𑣖𑣗𑣘𑣙𑣚𑣛𑣜𑣝𑣞𑣟𖹠𖹡𖹢𖹣𖹤𖹥𖹦𖹧𖹨𖹩𖹪𖹫𖹬𖹭𖹮𖹯𖹰𖹱𖹲𖹳𖹴𖹵𖹶𖹷𖹸𖹹𖹺𖹻𖹼𖹽𖹾𖹿𞤢𞤣𞤤𞤥𞤦𞤧'
        '𞤨𞤩𞤪𞤫𞤬𞤭𞤮𞤯𞤰𞤱𞤲𞤳𞤴𞤵𞤶𞤷𞤸𞤹𞤺𞤻𞤼𞤽𞤾𞤿𞥀𞥁𞥂𞥃') COLLATE "C");
END
$$;

-- What stands in the place of a value of more bytes than are wanted: its type, how many bytes and members it has, and how
-- it begins. Of a long array only parts become text, and its bytes follow from those: each look reads the whole value
-- from the table, and the text of all takes several times as long. Where a page took a second, the rest of it is told
-- by its stored bytes alone.
CREATE OR REPLACE FUNCTION roost_shortened(value jsonb, type text, most int) RETURNS jsonb
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE COST 1000 AS $$
DECLARE
    count bigint;
    bytes bigint;
    part jsonb;
    start text;
BEGIN
    IF clock_timestamp() - statement_timestamp() > interval '1 second' THEN
        RETURN jsonb_build_object(
            '__type', 'Shortened', 'type', type, 'bytes', pg_column_size(value), 'start', '');
    END IF;
    IF type = 'Array' THEN
        count := jsonb_path_query_first(value, '$.size()')::bigint;
    ELSIF type = 'Bytes' THEN
        start := value ->> 'base64';
        bytes := octet_length(start)::bigint * 3 / 4;
    END IF;
    IF count > 64 + most THEN
        part := jsonb_path_query_array(value, '$[0 to 15, $middle to $end]', jsonb_build_object(
            'middle', count / 2, 'end', count / 2 + 15));
        bytes := octet_length(part::text)::bigint * count / 32;
        start := jsonb_path_query_array(part, '$[0 to 15]')::text;
        IF length(start) <= most THEN
            -- An element and what separates it from the next one are two characters at least.
            start := jsonb_path_query_array(value, '$[0 to $last]', jsonb_build_object('last', most / 2))::text;
        END IF;
    ELSIF start IS NULL THEN
        start := value::text;
        bytes := octet_length(start);
        IF type = 'Object' AND starts_with(start, '{') THEN
            count := (SELECT count(*) FROM jsonb_object_keys(value));
        END IF;
    END IF;
    RETURN jsonb_strip_nulls(jsonb_build_object(
        '__type', 'Shortened', 'type', type, 'bytes', bytes, 'count', count, 'start', left(start, most)));
END
$$;

-- How many objects classes have, and how many bytes those and their indexes take. Tables of more bytes than are to be
-- read are estimated, and so is what is left when the time is over, and what is locked; a class without a table is left out.
CREATE OR REPLACE FUNCTION roost_class_counts(tables text[], largest bigint, longest interval)
RETURNS TABLE (place int, objects bigint, estimated boolean, bytes bigint, index_bytes bigint)
LANGUAGE plpgsql STABLE SET lock_timeout = '20ms' AS $$
DECLARE
    class regclass;
    density double precision;
    -- What waits for such a lock lets nobody pass, either.
    locked oid[] := ARRAY(SELECT relation FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation IS NOT NULL);
BEGIN
    FOR i IN 1..cardinality(tables) LOOP
        BEGIN
            place := i;
            class := to_regclass(tables[i]);
            -- A table that was never looked through has no density.
            SELECT CASE WHEN reltuples >= 0 AND relpages > 0 THEN reltuples / relpages END INTO density
            FROM pg_class WHERE oid = class;
            CONTINUE WHEN NOT FOUND;
            IF class = ANY (locked) THEN
                RAISE lock_not_available;
            END IF;
            bytes := pg_table_size(class);
            index_bytes := pg_indexes_size(class);
            estimated := density IS NOT NULL AND (pg_relation_size(class) > largest
                OR clock_timestamp() - statement_timestamp() > longest);
            IF estimated THEN
                objects := density * (pg_relation_size(class) / current_setting('block_size')::int);
            ELSE
                EXECUTE format('SELECT count(*) FROM %s', class) INTO objects;
            END IF;
            RETURN NEXT;
        EXCEPTION WHEN undefined_table OR internal_error THEN
            -- It was dropped meanwhile.
            NULL;
        WHEN lock_not_available THEN
            SELECT greatest(reltuples, 0), true, relpages::bigint * current_setting('block_size')::int, 0
            INTO objects, estimated, bytes, index_bytes FROM pg_class WHERE oid = class;
            RETURN NEXT;
        END;
    END LOOP;
END
$$;
