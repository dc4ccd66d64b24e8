package oracle

// product is the shape of a matrix product; pad is added to each stride.
type product struct{ m, n, k, pad int }

// products are no multiples of any tile, but for one that is.
var products = []product{
	{1, 8, 8, 0}, {1, 104, 136, 8}, {2, 24, 40, 0}, {3, 96, 96, 8}, {5, 40, 136, 0},
	{8, 24, 8, 0}, {16, 96, 40, 8}, {17, 8, 40, 0}, {33, 104, 96, 0}, {64, 64, 64, 0},
	{2, 16, 1544, 0}, {130, 40, 72, 8}, {264, 24, 40, 0}, {1030, 24, 40, 8},
	{17, 776, 136, 0}, // b has more than 98,304 numbers: TL takes its workgroups down the columns, in two rows of them or more
}

// wideProducts are for the kernels whose rows are columns of an operand: there
// m is a multiple of 8, and in matmul_tn_acc k is free.
var wideProducts = []product{
	{8, 8, 1, 0}, {8, 104, 3, 8}, {24, 40, 17, 0}, {96, 8, 33, 8}, {104, 96, 5, 0}, {40, 24, 70, 0}, {64, 64, 64, 0},
	{520, 24, 3, 0}, {24, 520, 3, 8}, {8, 1032, 3, 0},
}

func (p product) name() string { return label("M", p.m, "N", p.n, "K", p.k, "pad", p.pad) }

// operand tells how element k of row (or column) i lies in a matrix.
type operand struct {
	x         []Value
	row, step int
}

func (o operand) chain(i, k int) []Value { return column(o.x[i*o.row:], o.step, k) }

// outside stands where a product must not write.
const outside = 7

// finish makes element at of c from the factors of its products in order of k.
type finish func(at int, x, y []Value) Value

// sums puts the elements of the product into the shape of c.
func (p product) sums(a, b operand, ldc int, element finish) []Value {
	want := make([]Value, p.m*ldc)
	for at := range want {
		want[at] = Exact(outside)
	}
	columns := make([][]Value, p.n)
	for j := range columns {
		columns[j] = b.chain(j, p.k)
	}
	for i := range p.m {
		x := a.chain(i, p.k)
		for j, y := range columns {
			at := i*ldc + j
			want[at] = element(at, x, y)
		}
	}
	return want
}

// output is c before: inside its n columns before(i), outside the marker.
func (p product) output(ldc int, inside func(int) float32) []float32 {
	c := make([]float32, p.m*ldc)
	for at := range c {
		c[at] = outside
		if at%ldc < p.n {
			c[at] = inside(at)
		}
	}
	return c
}

// fromZero is a chain that starts from 0.
func (d *data) fromZero(_ int, x, y []Value) Value { return d.dot(x, y) }

// continuing is a chain that starts from what is there: one more term, times 1. Matrix
// cores add what is there to their sum.
func (d *data) continuing(before []float32) finish {
	return func(at int, x, y []Value) Value {
		if d.cores {
			return Add(Exact(before[at]), d.dot(x, y))
		}
		return Dot(append([]Value{Exact(before[at])}, x...), append([]Value{Exact(1)}, y...))
	}
}

func ntCases(d *data) []Case {
	var cases []Case
	for _, p := range products {
		ldc := p.n + p.pad
		p.k, p.pad = d.wholeBlocks(p.k), d.wholeBlocks(p.pad)
		ld := p.k + p.pad
		a := d.normal(p.m*ld, 1)
		b, bound := d.matrix(p.n * ld)
		nan := unwritten(1)[0]
		c := d.newCase(p.name(), words(p.m, p.n, p.k, ld, ld, ldc), a, bound, p.output(ldc, func(int) float32 { return nan }))
		c.Want[len(c.Want)-1] = p.sums(operand{d.left(a, ld, p.k), ld, 1}, operand{d.right(b), ld, 1}, ldc, d.fromZero)
		cases = append(cases, c)
	}
	return cases
}

func ntResidualCases(d *data) []Case {
	var cases []Case
	for _, p := range products {
		ldc := p.n + p.pad
		p.k, p.pad = d.wholeBlocks(p.k), d.wholeBlocks(p.pad)
		ld := p.k + p.pad
		a := d.normal(p.m*ld, 1)
		b, bound := d.matrix(p.n * ld)
		r := d.normal(p.m*ldc, 1)
		nan := unwritten(1)[0]
		c := d.newCase(p.name(), words(p.m, p.n, p.k, ld, ld, ldc), a, bound, r, p.output(ldc, func(int) float32 { return nan }))
		c.Want[len(c.Want)-1] = p.sums(operand{d.left(a, ld, p.k), ld, 1}, operand{d.right(b), ld, 1}, ldc, func(at int, x, y []Value) Value {
			return Add(Exact(r[at]), d.dot(x, y))
		})
		cases = append(cases, c)
	}
	return cases
}

func nnCases(d *data) []Case {
	nan := unwritten(1)[0]
	return d.nn(func(int) float32 { return nan }, func([]float32) finish { return d.fromZero })
}

func nnAccCases(d *data) []Case {
	return d.nn(func(int) float32 { return float32(d.NormFloat64()) }, d.continuing)
}

func (d *data) nn(inside func(int) float32, element func(before []float32) finish) []Case {
	var cases []Case
	for _, p := range products {
		lda, ldb := p.k+p.pad, d.wholeBlocks(p.n+p.pad)
		a := d.normal(p.m*lda, 1)
		b, bound := d.matrix(p.k * ldb)
		before := p.output(ldb, inside)
		c := d.newCase(p.name(), words(p.m, p.n, p.k, lda, ldb, ldb), a, bound, before)
		c.Want[len(c.Want)-1] = p.sums(operand{d.left(a, lda, p.k), lda, 1}, operand{d.right(b), 1, ldb}, ldb, element(before))
		cases = append(cases, c)
	}
	return cases
}

func tnAccCases(d *data) []Case {
	var cases []Case
	for _, p := range wideProducts {
		lda, ldb := p.m+p.pad, p.n+p.pad
		a, b := d.normal(p.k*lda, 1), d.normal(p.k*ldb, 1)
		before := p.output(ldb, func(int) float32 { return float32(d.NormFloat64()) })
		c := d.newCase(p.name(), words(p.m, p.n, p.k, lda, ldb, ldb), a, b, before)
		c.Want[2] = p.sums(operand{values(a), 1, lda}, operand{values(b), 1, ldb}, ldb, d.continuing(before))
		cases = append(cases, c)
	}
	return cases
}
