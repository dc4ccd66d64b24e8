package parquet

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// maxHeader bounds a page's header, which may hold the least and greatest value.
const maxHeader = 1 << 16 // bytes

// column reads the entries of a leaf in one row group.
type column struct {
	leaf *node
	file *File
	in   *bufio.Reader
	size int64 // bytes of the chunk that are left
	held int   // bytes of page and dictionary

	codec      int
	left       int64 // entries of the chunk that are not in a page yet
	inPage     int64 // entries of the page that are left
	buf        []byte
	dictionary []value
	indexBytes int       // of the dictionary
	levels     [2]hybrid // repetition, definition
	values     values

	entry entry
	ready bool
}

// entry is a value with its levels. The value is there where definition is that of the
// leaf.
type entry struct {
	repetition, definition int
	value                  value
}

// peek returns the next entry without taking it; end says that there is none.
func (c *column) peek() (e *entry, end bool, err error) {
	if c.ready {
		return &c.entry, false, nil
	}
	for c.inPage == 0 {
		if c.left == 0 {
			return nil, true, nil
		}
		if err := c.page(); err != nil {
			return nil, false, err
		}
	}
	c.inPage--
	var levels [2]uint64
	for i, most := range [2]int{c.leaf.repetitionLevel, c.leaf.definitionLevel} {
		if most == 0 {
			continue
		}
		if levels[i], err = c.levels[i].next(); err != nil {
			return nil, false, err
		}
		if levels[i] > uint64(most) {
			return nil, false, fmt.Errorf("found a level of %d; accepted: at most %d", levels[i], most)
		}
	}
	c.entry = entry{repetition: int(levels[0]), definition: int(levels[1])}
	if c.entry.definition == c.leaf.definitionLevel {
		if c.entry.value, err = c.values.next(); err != nil {
			return nil, false, err
		}
	}
	c.ready = true
	return &c.entry, false, nil
}

// page reads the next page of data, and the dictionary where that is next.
func (c *column) page() error {
	h, err := c.header()
	if err != nil {
		return err
	}
	if h.compressed < 0 || h.compressed > c.size || h.uncompressed < 0 || h.uncompressed > maxHeld || h.values < 0 {
		return fmt.Errorf("a page claims %d bytes (%d uncompressed) and %d values; the column has %d bytes left, and a page is accepted up to %d bytes", h.compressed, h.uncompressed, h.values, c.size, maxHeld)
	}
	if err := c.file.spend(h.uncompressed); err != nil {
		return err
	}
	c.size -= h.compressed
	stored := make([]byte, h.compressed)
	if _, err := io.ReadFull(c.in, stored); err != nil {
		return errShort
	}
	if h.checked && crc32.ChecksumIEEE(stored) != h.crc {
		return errors.New("the checksum of a page is not that of its bytes: the file is damaged")
	}
	switch h.kind {
	case pageDictionary:
		return c.readDictionary(h, stored)
	case pageData, pageDataV2:
		return c.readData(h, stored)
	}
	return nil // an index, which is not needed
}

// header reads a page's header, whose length is known only once it is read.
func (c *column) header() (h pageHeader, err error) {
	for n := 1 << 10; ; n *= 8 {
		data, err := c.in.Peek(min(n, maxHeader))
		if err != nil && err != io.EOF {
			return h, err
		}
		t := &thrift{data: data}
		h = t.pageHeader()
		if t.err == nil {
			used := len(data) - len(t.data)
			c.size -= int64(used)
			_, err := c.in.Discard(used)
			return h, err
		}
		if err == io.EOF || n >= maxHeader {
			return h, fmt.Errorf("the header of a page: %w", t.err)
		}
	}
}

// hold accounts for the bytes of page and dictionary.
func (c *column) hold(n int) error {
	c.file.held += n - c.held
	c.held = n
	if c.file.held > maxHeld {
		return fmt.Errorf("pages and dictionaries of the columns need more than %d bytes at once", maxHeld)
	}
	return nil
}

func (c *column) readDictionary(h pageHeader, stored []byte) error {
	if c.dictionary != nil {
		return errors.New("the column has two dictionaries")
	}
	data, err := c.decompress(nil, stored, h.uncompressed)
	if err != nil {
		return err
	}
	const perValue = bits.UintSize / 8 * 4 // a value is a word and a slice
	from := &plain{data: data, kind: c.leaf.kind, width: fixedWidth(c.leaf)}
	c.dictionary = []value{}
	for int64(len(c.dictionary)) < h.values {
		v, err := from.next()
		if err != nil {
			return err
		}
		c.dictionary = append(c.dictionary, v)
		if perValue*len(c.dictionary) > maxHeld {
			return fmt.Errorf("the dictionary needs more than %d bytes", maxHeld)
		}
	}
	c.indexBytes = len(data) + perValue*len(c.dictionary)
	return c.hold(c.indexBytes + len(c.buf))
}

func (c *column) readData(h pageHeader, stored []byte) error {
	if h.values > c.left {
		return fmt.Errorf("a page has %d values, where the column has %d left", h.values, c.left)
	}
	var levels [2][]byte
	var err error
	if h.kind == pageDataV2 { // levels come first and are not compressed
		for i, n := range h.levelBytes {
			if n < 0 || n > int64(len(stored)) {
				return errShort
			}
			levels[i], stored = stored[:n], stored[n:]
		}
		h.uncompressed -= h.levelBytes[0] + h.levelBytes[1]
	}
	data := stored
	if h.kind == pageData || !h.plain {
		if data, err = c.decompress(c.buf[:0], stored, h.uncompressed); err != nil {
			return err
		}
	}
	c.buf = data
	if err := c.hold(c.indexBytes + len(data)); err != nil {
		return err
	}
	for i, most := range [2]int{c.leaf.repetitionLevel, c.leaf.definitionLevel} {
		if most == 0 {
			continue
		}
		if h.kind == pageData {
			if h.levels[i] != encodingRLE {
				return fmt.Errorf("levels have encoding %d; accepted: run-length encoding", h.levels[i])
			}
			if levels[i], data, err = lengthPrefixed(data); err != nil {
				return err
			}
		}
		c.levels[i] = hybrid{data: levels[i], width: bits.Len(uint(most)), run: true}
	}
	if c.values, err = newValues(h.encoding, c.leaf, data, h.values, c.dictionary); err != nil {
		return err
	}
	c.left -= h.values
	c.inPage = h.values
	return nil
}

// Codecs, parquet.thrift: CompressionCodec.
const (
	codecNone   = 0
	codecSnappy = 1
	codecGzip   = 2
	codecBrotli = 4
	codecZstd   = 6
	codecLZ4    = 7
)

// mostExpansion bounds how many bytes one byte can stand for. It keeps a small page from
// claiming much memory: a copy of snappy has 3 bytes for 64, a length byte of LZ4 stands
// for 255.
var mostExpansion = map[int]int64{codecSnappy: 64, codecLZ4: 256}

// decompress decodes the bytes of a page, of which there must be n, into buf.
func (c *column) decompress(buf, stored []byte, n int64) ([]byte, error) {
	if most := mostExpansion[c.codec]; most > 0 && n > most*int64(len(stored))+64 {
		return nil, fmt.Errorf("a page of %d bytes cannot have %d uncompressed", len(stored), n)
	}
	var out []byte
	var err error
	switch c.codec {
	case codecNone:
		out = stored
	case codecSnappy:
		if length, err := snappy.DecodedLen(stored); err != nil || int64(length) != n {
			return nil, errors.New("a page compressed by snappy is damaged")
		}
		out, err = snappy.Decode(buf[:cap(buf)], stored)
	case codecLZ4:
		if int64(cap(buf)) < n {
			buf = make([]byte, n)
		}
		var length int
		length, err = lz4.UncompressBlock(stored, buf[:n])
		out = buf[:max(0, length)]
	case codecGzip, codecBrotli, codecZstd:
		out, err = c.inflate(buf, stored, n)
	default:
		return nil, fmt.Errorf("compression codec %d is not supported; accepted: none, snappy, gzip, brotli, zstd, LZ4_RAW", c.codec)
	}
	if err != nil {
		return nil, fmt.Errorf("decompressing a page: %w", err)
	}
	if int64(len(out)) != n {
		return nil, fmt.Errorf("a page has %d bytes after decompression, and its header says %d", len(out), n)
	}
	return out, nil
}

// inflate decodes a stream, and no more of it than one byte too many.
func (c *column) inflate(buf, stored []byte, n int64) ([]byte, error) {
	var in io.Reader
	var err error
	switch c.codec {
	case codecGzip:
		in, err = gzip.NewReader(bytes.NewReader(stored))
	case codecBrotli:
		in, err = unbrotli(bytes.NewReader(stored))
	case codecZstd:
		in, err = c.file.zstandard(bytes.NewReader(stored))
	}
	if err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(buf[:0])
	_, err = out.ReadFrom(io.LimitReader(in, n+1))
	return out.Bytes(), err
}

// zstandard is the file's decoder, which reads the stream in the calling goroutine.
func (f *File) zstandard(in io.Reader) (io.Reader, error) {
	if f.zstd == nil {
		var err error
		f.zstd, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxHeld))
		return f.zstd, err
	}
	return f.zstd, f.zstd.Reset(in)
}
