package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"time"

	"github.com/dolthub/dolt/go/gen/fb/serial"
	"github.com/dolthub/dolt/go/store/prolly/message"
	"github.com/dolthub/dolt/go/store/val"
	flatbuffers "github.com/google/flatbuffers/go"
)

const (
	pages     = 1_000
	pageSize  = 100
	pageOrder = 10_000
)

var pageKeyDesc = val.NewTupleDescriptor(
	val.Type{Enc: val.Uint64Enc},
	val.Type{Enc: val.Uint64Enc},
)

// leaf is what Dolt's node keeps beside its bytes: where its keys and values are.
type leaf struct {
	keys, values val.SlicedBuffer
	count        uint16
}

func readLeaf(text message.Message) (read leaf) {
	read.keys, read.values, read.count = message.GetKeysAndValues(text)
	return read
}

func (l leaf) scan() (sum uint64) {
	for i := range int(l.count) {
		sum += l.entry(i)
	}
	return sum
}

func (l leaf) entry(i int) uint64 {
	return firstNumber(l.keys.GetSlice(i)) + firstNumber(l.values.GetSlice(i))
}

// find is Dolt's search in a node.
func (l leaf) find(key val.Tuple) uint64 {
	i, j := 0, int(l.count)
	for i < j {
		half := int(uint(i+j) >> 1)
		if pageKeyDesc.Compare(key, val.Tuple(l.keys.GetSlice(half))) <= 0 {
			j = half
		} else {
			i = half + 1
		}
	}
	if i < int(l.count) && pageKeyDesc.Compare(key, val.Tuple(l.keys.GetSlice(i))) == 0 {
		return 1
	}
	return 0
}

func firstNumber(tuple []byte) uint64 {
	return binary.LittleEndian.Uint64(tuple)
}

// fields reads a leaf by its generated accessors.
type fields struct {
	node serial.ProllyTreeNode
}

func readFields(text message.Message) (read fields) {
	read.node.Init(text, flatbuffers.GetUOffsetT(text))
	return read
}

func (f *fields) count() int {
	return f.node.KeyOffsetsLength() + 1
}

func (f *fields) key(i int) []byte {
	items := f.node.KeyItemsBytes()
	from, to := 0, len(items)
	if i > 0 {
		from = int(f.node.KeyOffsets(i - 1))
	}
	if i < f.node.KeyOffsetsLength() {
		to = int(f.node.KeyOffsets(i))
	}
	return items[from:to]
}

func (f *fields) entry(i int) uint64 {
	items := f.node.ValueItemsBytes()
	from, to := 0, len(items)
	if i > 0 {
		from = int(f.node.ValueOffsets(i - 1))
	}
	if i < f.node.ValueOffsetsLength() {
		to = int(f.node.ValueOffsets(i))
	}
	return firstNumber(f.key(i)) + firstNumber(items[from:to])
}

func (f *fields) scan() (sum uint64) {
	for i := range f.count() {
		sum += f.entry(i)
	}
	return sum
}

func (f *fields) find(key val.Tuple) uint64 {
	i, j := 0, f.count()
	for i < j {
		half := int(uint(i+j) >> 1)
		if pageKeyDesc.Compare(key, val.Tuple(f.key(half))) <= 0 {
			j = half
		} else {
			i = half + 1
		}
	}
	if i < f.count() && pageKeyDesc.Compare(key, val.Tuple(f.key(i))) == 0 {
		return 1
	}
	return 0
}

// leaves makes the leaves of the program trees.
func leaves() (texts []message.Message, wanted [][]uint64) {
	keyBuilder := val.NewTupleBuilder(pageKeyDesc)
	made := newTuples()
	for page := range uint64(pages) {
		var keys, values [][]byte
		var sums []uint64
		for entry := range uint64(pageSize) {
			number := pageSize*page + entry
			keyBuilder.PutUint64(0, 2*number)
			keyBuilder.PutUint64(1, number)
			keys = append(keys, keyBuilder.Build(buffers))
			values = append(values, made.value(number))
			sums = append(sums, 2*number+firstNumber(value(number)))
		}
		serializer := message.ProllyMapSerializer{Pool: buffers}
		texts = append(texts, serializer.Serialize(keys, values, nil, 0))
		wanted = append(wanted, sums)
	}
	return texts, wanted
}

// bestPage returns the nanoseconds and the allocations of one piece of work.
func bestPage(work func(place int) uint64, wanted uint64) (nanoseconds, allocations float64, err error) {
	best := time.Duration(math.MaxInt64)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 200 {
		start := time.Now()
		sum := uint64(0)
		for place := range pageOrder {
			sum += work(place)
		}
		best = min(best, time.Since(start))
		if sum != wanted {
			return 0, 0, fmt.Errorf("sum %d instead of %d", sum, wanted)
		}
	}
	runtime.ReadMemStats(&after)
	made := float64(after.Mallocs-before.Mallocs) / (200 * pageOrder)
	return float64(best.Nanoseconds()) / pageOrder, made, nil
}

// page measures three readers: one that keeps where keys and values are, one that finds them for
// each piece of work as Dolt's store of nodes does ("-node"), and the generated accessors
// ("-fields"). Each line ends with the allocations of one piece of work.
func page() error {
	texts, sums := leaves()
	kept := make([]leaf, pages)
	for i, text := range texts {
		kept[i] = readLeaf(text)
	}
	draws := random(9)
	chosen, entry, absent := make([]int, pageOrder), make([]int, pageOrder), make([]val.Tuple, pageOrder)
	scanned, read := uint64(0), uint64(0)
	builder := val.NewTupleBuilder(pageKeyDesc)
	for i := range pageOrder {
		chosen[i], entry[i] = int(draws.number()%pages), int(draws.number()%pageSize)
		number := uint64(pageSize*chosen[i] + entry[i])
		builder.PutUint64(0, 2*number+1)
		builder.PutUint64(1, 0)
		absent[i] = builder.Build(buffers)
		read += sums[chosen[i]][entry[i]]
		for _, sum := range sums[chosen[i]] {
			scanned += sum
		}
		present := val.Tuple(kept[chosen[i]].keys.GetSlice(entry[i]))
		accessors := readFields(texts[chosen[i]])
		if kept[chosen[i]].find(present) != 1 || accessors.find(present) != 1 {
			return fmt.Errorf("entry %d is not found", number)
		}
	}
	for _, line := range []struct {
		name   string
		wanted uint64
		work   func(i int) uint64
	}{
		{"page-scan", scanned, func(i int) uint64 { return kept[chosen[i]].scan() }},
		{"page-ordinal", read, func(i int) uint64 { return kept[chosen[i]].entry(entry[i]) }},
		{"page-lookup", 0, func(i int) uint64 { return kept[chosen[i]].find(absent[i]) }},
		{"page-scan-node", scanned, func(i int) uint64 { return readLeaf(texts[chosen[i]]).scan() }},
		{"page-ordinal-node", read, func(i int) uint64 { return readLeaf(texts[chosen[i]]).entry(entry[i]) }},
		{"page-lookup-node", 0, func(i int) uint64 { return readLeaf(texts[chosen[i]]).find(absent[i]) }},
		{"page-scan-fields", scanned, func(i int) uint64 { f := readFields(texts[chosen[i]]); return f.scan() }},
		{"page-ordinal-fields", read, func(i int) uint64 { f := readFields(texts[chosen[i]]); return f.entry(entry[i]) }},
		{"page-lookup-fields", 0, func(i int) uint64 { f := readFields(texts[chosen[i]]); return f.find(absent[i]) }},
	} {
		best, allocations, err := bestPage(line.work, line.wanted)
		if err != nil {
			return fmt.Errorf("%s: %w", line.name, err)
		}
		fmt.Printf("dolt %s 1 %.1f %.0f\n", line.name, best, allocations)
	}
	return nil
}
