package verify

import (
	"slices"
	"strings"
	"testing"
)

// mathCase is a comparison under the default options.
type mathCase struct{ gold, pred string }

// mathEqual holds answers that mean the same.
var mathEqual = []mathCase{
	// numbers
	{"7425000", "7,425,000"}, {"1000.99", "1 000.99"}, {"1.22", "1,22"}, {"0.4", ".4"}, {"1000.99", "€1,000.99"},
	{"1000.99", "1,000.99m²"}, {"1000.99", "The price is 1,000.99€."}, {"12345", `$12{,}345$`}, {"12345", `12\,345`}, {"-3", "−3"},
	{"1/3", `0.\overline{3}`}, {"1/3", `0.\bar 3`}, {"3.5", `3\frac{1}{2}`}, {"7/2", "3 1/2"}, {"0.001", `10^{-3}`}, {"1.5e3", "1500"},
	{"1500000", `1.5 \times 10^6`}, {"3/4", "0.75"}, {"1/2", "$.5$"}, {"5000000", `5 \text{ million}`},
	{"4", `\lfloor 4.7 \rfloor`}, {"120", "5!"}, {"10", `\binom{5}{2}`}, {"28%", "28 percent"}, {"28%", "0.28"}, {"$28\\%$", "$28\\%$"},
	{"6", `\boxed{+6}`}, {"16", "2^4"}, {"16", "2**4"}, {"3", "|-3|"}, {"16", "2⁴"}, {"3", "\\sqrt{9}"}, {"3", "√9"},
	// roots and constants
	{`\sqrt{8}`, `2\sqrt{2}`}, {`\frac{1}{\sqrt{2}}`, `\frac{\sqrt2}{2}`}, {`\sqrt{3+2\sqrt2}`, `1+\sqrt2`}, {`\sqrt[3]{54}`, `3\sqrt[3]{2}`},
	{`\sqrt{5+2\sqrt6}`, `\sqrt2+\sqrt3`}, {`\frac{1}{\sqrt3-\sqrt2}`, `\sqrt{3}+\sqrt{2}`}, {`2^{1/3}\cdot 4^{1/3}`, "2"},
	{`\sqrt[3]{2+\sqrt5}+\sqrt[3]{2-\sqrt5}`, "1"}, {`\frac{9}{4}\pi`, `\frac{9\pi}{4}`}, {`\frac{\pi}{2}`, "pi/2"}, {`\ln 8`, `3\ln 2`},
	{`\log_2 8`, "3"}, {`\sin 30`, `\sin(30)`}, {`\sin\frac{\pi}{3}`, `\frac{\sqrt3}{2}`}, {`e^2`, `\mathrm{e}^{2}`}, {`\arctan 1`, `\pi/4`},
	{`\frac{1}{2004!}`, `\frac{1}{2004!}`}, {`2^{-99}`, `\frac{1}{2^{99}}`}, {`\sqrt{12}`, `\sqrt{4}\sqrt{3}`},
	{`10^{\frac{-5+\sqrt{13}}{6}}`, `10^{\frac{\sqrt{13}-5}{6}}`}, {`(-8)^{1/3}`, "-2"},
	// complex
	{"3+4i", "4i+3"}, {`\frac{1}{i}`, "-i"}, {`(1+i)^2`, "2i"}, {`\sqrt{-4}`, "2i"}, {`e^{i\pi}`, "-1"}, {`|3+4i|`, "5"},
	// expressions
	{"(x+1)^2", "x^2+2x+1"}, {`\frac{x^2-1}{x-1}`, "x+1"}, {`\sin^2 x`, `1-\cos^2 x`}, {`2\sin x\cos x`, `\sin 2x`}, {"ab", "ba"},
	{`\sqrt[3]{x^2}`, `x^{2/3}`}, {`\tan x`, `\frac{\sin x}{\cos x}`}, {"n(n+1)/2", `\frac{n^2+n}{2}`}, {`(n+1)!`, `(n+1) n!`},
	{`\binom{n}{2}`, `\frac{n(n-1)}{2}`}, {"7*sin(pi*x/5)+1", `7\sin\left(\frac{\pi x}{5}\right)+1`}, {`\ln(x^2)`, `2\ln x`}, {`e^{x+1}`, `e\cdot e^x`},
	{"x^{-1}", `\frac1x`}, {`\frac{a}{b}`, "a/b"}, {`-\frac{1}{2}x`, `-\frac{x}{2}`},
	// sets, lists, tuples
	{`\{1,2,3\}`, `\{3,2,1\}`}, {"1,2,3", "3, 1 and 2"}, {"(1,2)", `\left(1, 2\right)`}, {`\{1,1,2\}`, `\{1,2\}`}, {"1;2", "1,2"},
	{"(1;2)", "(1,2)"}, {`\emptyset`, `\{\}`}, {`x=1 \text{ or } x=2`, "1, 2"}, {"x=1,y=2", "y=2,x=1"}, {"(x,y)=(1,2)", "(1,2)"}, {"x_1=1,x_2=2", "x_2=2, x_1=1"},
	{"x=1, y=2", "(1,2)"}, {`\pm 3`, "3, -3"}, {`x=\pm\sqrt2`, `\{\sqrt2,-\sqrt2\}`}, {`1\pm\sqrt{2}`, `1+\sqrt2, 1-\sqrt2`}, {"1, 234", "1, 234"},
	{`\boxed{2}, \boxed{3}`, `\{2,3\}`}, {`\mathbb{R}\setminus\{3\}`, `(-\infty,3)\cup(3,\infty)`}, {"{1,2}", "1,2"}, {`(1,2],[3,4)`, `(1,2],[3,4)`},
	// intervals
	{"[0,1)", `[0, 1)`}, {`(-\infty, 2]`, `x \in (-\infty,2]`}, {"x<=2", `(-\infty,2]`}, {"1<x<=2", "(1,2]"}, {`[0,1]\cup[1,2]`, "[0,2]"},
	{`(-\infty,-1)\cup(1,\infty)`, `(1,+\infty) \cup (-\infty,-1)`},
	// matrices
	{`\begin{pmatrix}1&2\\3&4\end{pmatrix}`, `\begin{bmatrix}1&2\\3&4\end{bmatrix}`}, {`\begin{pmatrix}2\\4\end{pmatrix}`, `2\begin{pmatrix}1\\2\end{pmatrix}`},
	{`\begin{pmatrix}3&3\\7&7\end{pmatrix}`, `\begin{pmatrix}1&2\\3&4\end{pmatrix}\begin{pmatrix}1&1\\1&1\end{pmatrix}`},
	// relations
	{"x<3", "3>x"}, {"x > 5", "5 < x"}, {"x < 5", "-x > -5"}, {"y=2x+1", "2x-y+1=0"}, {"x+y=1", "2x+2y=2"}, {"x=5", "5=x"}, {"1<x<3", "3>x>1"}, {"11", "x=5+5+1=7=11"},
	{"x\\ne 3", "x != 3"}, {"5", "x=5"}, {"f(x)=x^2", "f(x)=x\\cdot x"}, {"x=1/3", `x=\frac13\approx0.333`},
	{"|x|<2", "-2<x<2"}, {`|x|\ge 2`, `(-\infty,-2]\cup[2,\infty)`}, {"x=1,y=2", "y=2, x=1"}, {"y = 3 - \\frac{3x}{4}", "3x+4y=12"}, {`33\frac{1}{3}\%`, "1/3"},
	// ratios, units, words
	{"7:32", "7:32"}, {"1:2", "2:4"}, {`15\text{ cm}^2`, `15 \text{ square centimeters}`}, {`5\text{ km}`, `5000 \text{ m}`}, {"12", "12 apples"}, {`90^\circ`, "90 degrees"}, {"12", `\$12`},
	{"Evelyn", `\text{evelyn}`}, {`\text{(A)}`, "A"}, {`\text{yes}`, "Yes"}, {"125 miles", `$125$`}, {"B", `The answer is \boxed{\text{B}}.`},
	// extraction
	{"5", "<think>6</think>The answer is 5."}, {"5", "<answer>5</answer>"}, {"5", "**Final Answer:** 5"}, {"5", `Final Answer: The final answer is $5$. I hope it is correct.`}, {"8", "First 3, then 5, so 3+5 = 8"},
	{"42", "So we get 42"}, {"9", `Answer \( 9 \)`}, {"9", "Answer \\[ \n 9 \n \\]"}, {"1/3", "The final answer is \\(\\frac{1}{3}\\)."}, {"7/9", "we get 7/9"}, {"5", "answer: 5 dollars"}, {"-2", "The final answer is -2."},
}

// mathFound holds right answers that were once refused, and mathPaid wrong ones that
// were once paid.
var mathFound = []mathCase{
	// an exponent or a base of several digits without braces
	{"1024", "2^10"}, {"1024", "$2^10$"}, {"10000000000", "10^10"}, {"x^{10}", "x^10"}, {"x^{10}y^{12}", "x^10y^12"}, {"1500000000000", "1.5*10^12"},
	{"1.5e-12", "1.5*10^-12"}, {"10^{12}", "10^+12"}, {"10^{-10}", "10^−10"}, {"2^{3^{10}}", "2^3^10"}, {"a_{10}", "a_10"}, {"35_{10}", "35_10"},
	{"2", "log_10(100)"}, {"2", "log_10 100"}, {"7", `\log_2 128`}, {`\log_{10}x`, `\log_10x`}, {`\sin^{10} x`, `\sin^10 x`}, {`\cos^2 2x`, `\cos^22x`}, {"3", `\log_28`},
	{`$\int_0^1 2x dx$`, `$\int_0^12x dx$`}, {`\sum_{k=1}^{10} a_k`, `\sum_{k=1}^10 a_k`},
	// an x between numbers
	{"1500000000000", "1.5 x 10^12"}, {"1500000000000", "1.5x10^12"}, {"12", "3 x 4"}, {"3x^2", "3x^2"}, {"6x", "3x 2"},
	// a function over a function
	{`\log_2 3`, "ln 3/ln 2"}, {`\tan x`, "sin x/cos x"}, {`\sin\frac{\pi}{3}`, `\sin\pi/3`}, {`\frac{\sqrt3}{2}`, "sin pi/3"},
	// true equations
	{"42", "40+2=42"}, {"3.14", "22/7=3.14"}, {"7", "7=x"}, {"7", "x = 3+4 = 7"}, {"2", `\sqrt{4}=2`}, {`1\text{ hour}`, `60\text{ minutes} = 1\text{ hour}`},
	// words after a value
	{"7", `7\text{ cm}`}, {"7", `\boxed{7\text{ boys and girls}}`}, {"12", `12 \text{ Oregon miles}`}, {"0.7", "7 tenths"}, {"49", `7\text{ squared}`}, {`60 \frac{\text{km}}{\text{h}}`, "60"},
}

var mathPaid = []mathCase{
	{"2", "2^1,0"}, {"20", `2^10`}, {"x^1", "x^10"}, {`\log_2 1`, `\log_2 128`},
	{"7", "8=7"}, {"7", `\boxed{8=7}`}, {"7", "$8=7$"}, {"7", "The answer is 8=7."}, {"7", "<answer>8=7</answer>"}, {"7", "3=x=7"}, {"3", "3=x=7"}, {"8", "8=7=8"}, {"2", `\sqrt{5}=2`}, {"5", "2+2=5"},
	{"7", `7\text{ or anything}`}, {"7", `\boxed{7\text{ or anything}}`}, {"7", `\boxed{7 \mbox{or 8}}`}, {"7", `\boxed{7 \mbox{ or eight}}`}, {"7", "The answer is 7 or eight."},
	{"7", `\boxed{7\text{ and also eight}}`}, {"7", `\boxed{7\text{ is wrong}}`}, {"7", `\boxed{7\text{ not}}`}, {"7", `\boxed{7\text{ tenths}}`}, {"7", `\boxed{7\text{ halves}}`}, {"7", `\boxed{7\text{ minus something}}`}, {"7", `\boxed{7\text{ squared}}`}, {"7", "7 thousandths"},
}

// mathDifferent holds wrong answers, many of which other graders accept.
var mathDifferent = []mathCase{
	{`\frac{1}{2004!}`, `\frac{1}{2006!}`}, {`\frac{1}{2^{99}}`, `\frac{1}{2^{98}}`}, {"4", `4\sqrt{2}`}, {`1-\frac1e`, `1+\frac1e`},
	{"0", "3*x-1*y+13=0"}, {"1", "2x+z=1"}, {"0", `a^2+b=0`}, {"50", "0.5"}, {"28%", "28"}, {"28", "28%"}, {"0", "10^{-20}"}, {"10^{-20}", "0"}, {"0", `\sqrt{2}-1.41421356237309504880168872420969807`},
	{`\pi`, "3.14"}, {`\pi`, `\frac{22}{7}`}, {`\pi`, `\frac{355}{113}`}, {`\pi`, `\pi+10^{-200}`}, {`\sqrt2`, `\sqrt2+10^{-300}`}, {"1", `\cos(10^{-100})`}, {"10^{100}", "10^{100}+1"}, {"1/3", "0.33"}, {"2", "1.99"},
	{"2", "AZYUK2A"}, {"[0,1)", "(0,1)"}, {"(1,2)", "(2,1)"}, {"(1,2)", "[1,2]"}, {`\{1,2\}`, `\{1,2,3\}`}, {"1,2", "1"}, {"1", "1,2"}, {"24", "24, 23, 22"}, {"x=1,y=2", "x=2,y=1"}, {`\{1,2\}`, "(1,2)"}, {"(2,12)", "212"}, {"32349", "32, 349"},
	{"x<3", "x>3"}, {"x<3", "x<=3"}, {`[-2,7]`, `-2\le x\le 7`}, {"x>5", "x<5"}, {"k=3", "x=3"}, {"x=5", "y=5"}, {"7=11a+c", "11a+c"},
	{`\begin{pmatrix}1&2\\3&4\end{pmatrix}`, `\begin{pmatrix}1&3\\2&4\end{pmatrix}`}, {`\begin{pmatrix}1\\2\end{pmatrix}`, `\begin{pmatrix}1&2\end{pmatrix}`},
	{"204_5", "204"}, {"204_5", "204_6"}, {"x", "y"}, {"x^2", "x^3"}, {`\sqrt{x^2}`, "x"}, {"|x|", "x"}, {"e", "2.71828"}, {"d", `\text{E}`}, {"yes", "no"}, {"A", "B"}, {"A", "a"}, {"15 \\text{ cm}", `15 \text{ kg}`}, {`5\text{ km}`, `5 \text{ m}`},
	{"5", ""}, {"5", `\boxed{}`}, {"5", "<think>5"}, {"5", `\boxed{5} or maybe \boxed{6}`}, {"5", "5 million"}, {"3", "3i"}, {"2", `\pm 2`}, {`\pm 2`, "2"}, {"(a+5)(b+2)", "(+5)(b+2)"}, {"12:00", "12:30"},
	{"f(x)=x", "f(x)=2x"}, {"9", "Answer $ \n 9 \n $"}, {"9", "Answer \\( \n 9 \n \\)"}, {"0.5", "0.5000009"}, {`\infty`, `-\infty`}, {"1", `\infty`}, {"x^2+1", "x^2+1.0001"}, {"n!", "(n+1)!"}, {"1", "0^0"}, {"1", `\frac{0}{0}`}, {`\frac{1}{0}`, `\frac{2}{0}`},
	{"|x|<2", "-2<x<3"}, {"|x|>2", "-2<x<2"}, {"n \\ge 3", "n > 2"}, {"25 cents", "\\$25"}, {"x^2+y^2=1", "1"}, {"1", "x^2+y^2=1"}, {`(0,1)\cup(1,2)`, "(0,2)"},
	{"72", "Final answer: the area of $PQRS$ is 27."}, {"9", "We know $k = 9$. Final Answer: Tom left 4 minutes ago."}, {"60", "So $n = 60$. Thus there are 30 such numbers."}, {"30", "$n = 60$. So of 30 there are 15."},
	{`a_n=\sum_{k=1}^{n} a_k b_{n-k}`, `a_n=\sum_{k=1}^{n} b_{n-k} a_n`}, {"0<g(t)<2", "(0,3)"}, {`\sum_{k=1}^{n} a_k - b_k`, `\sum_{k=1}^{n} b_k - a_k`}, {"6", "6 = 2x = x + 3 = x = 3"},
	{"123", "1,2,3"}, {"10^8!", "10^7!"}, {"9^9^9^9^9", "9^9^9^9"}, {"0.0000001", "0.00000014"}, {"1/2", "1/3"}, {"{1,3}", "(3,1)"},
}

func TestMathTable(t *testing.T) {
	v, err := New("math", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range slices.Concat(mathEqual, mathFound) {
		if got := v.Verify(Problem{Answer: c.gold}, c.pred); got.Verdict != Right {
			t.Errorf("%q is refused for %q: %+v", c.pred, c.gold, got)
		}
	}
	for _, c := range slices.Concat(mathDifferent, mathPaid) {
		if got := v.Verify(Problem{Answer: c.gold}, c.pred); got.Verdict != Wrong {
			t.Errorf("%q is accepted for %q: %+v", c.pred, c.gold, got)
		}
	}
}

// mathMeans holds answers whose marks or words decide what they mean.
var mathMeans = []struct {
	gold, pred string
	want       bool
}{
	// times, dates, ranges, versions: no arithmetic
	{"08:06", "08:06", true}, {"08:06", "The train leaves at 08:06.", true}, {"08:06", "8:06 am", true}, {"08:06", "4:03", false}, {"08:06", "4/3", false}, {"08:06", "8:06 pm", false},
	{"2:30 PM", "14:30", true}, {"2:30 PM", "The answer is 2:30 p.m.", true}, {"2:30 PM", "2:30", true}, {"2:30 PM", "2:30 AM", false}, {"12:15 am", "00:15", true}, {"14:30", "7:15", false}, {"14:30", `\boxed{14:30}`, true},
	{"4/3", "08:06", false}, {"4/3", `\boxed{08:06}`, false}, {"4/3", "The answer is 8:06 am.", false}, {"1/2", "10:20", true},
	{"10:20:30", "10:20:30", true}, {"10:20:30", "5:10:15", false}, {"7:32", "7:32", true}, {"7:32", "14:64", true}, {"1:2", "2:4", true},
	{"3-4", "3-4", true}, {"3-4", "3 – 4", true}, {"3-4", "-1", false}, {"3-4", "The score was 3-4", true}, {"3-4", "It is not 3-4.", false},
	{"1.2.3", "1.2.3", true}, {"1.2.3", "v1.2.3", true}, {"1.2.3", "1.2", false}, {"1.2.3", "1.2.30", false},
	{"2024-01-05", "2024-1-5", true}, {"2024-01-05", "on 2024-01-05", true}, {"2024-01-05", "2018", false}, {"2018", "2024-01-05", false}, {"05/01/2024", "05/01/2024", true}, {"05/01/2024", "5/2024", false}, {"5/2024", "05/01/2024", false},
	{"1,234", "1234", true}, {"3/4", "0.75", true},
	// numbers that are denied, or only a bound
	{"42", "not 42", false}, {"42", "at most 42", false}, {"42", "The answer is not 42", false}, {"42", "The answer is not $42$.", false}, {"42", "The answer is at most $42$.", false}, {"42", "We found $42$, but the answer is not 42.", false},
	{"42", "<answer>at most 42</answer>", false}, {"42", "It is less than 42.", false}, {"42", "The answer isn't 42.", false}, {"42", "42 is not the answer", false}, {"42", "So it is at least 42", false}, {"42", "Therefore, x is not equal to 42.", false},
	{"42", "up to 42", false}, {"42", "<42", false}, {"42", "anything but 42", false}, {"42", "The answer is 42 or more.", false}, {"42", "The answer is 42 at most.", false},
	{"42", "It is not 41. The answer is 42.", true}, {"42", "x is not 0, so x = 42", true}, {"42", "The answer is 42, not 41.", true}, {"42", "There are more than 5 boxes. We get 42", true}, {"at most 42", "at most 42", true},
	// what is counted
	{"12 apples", "12", true}, {"12 apples", "12 apple", true}, {"12 apples", "The answer is 12 red apples.", true}, {"12 apples", "12 oranges", false}, {"12 apples", `\boxed{12 \text{ oranges}}`, false}, {"12 apples", "The answer is 12 oranges.", false},
	{"12 apples", "She has 12 left.", true}, {"12 apples", "The answer is 12 in all.", true}, {"12", "12 apples", true}, {"5 km", "5 apples", false}, {"5 apples", "5 km", false}, {"5 km", "5000 m", true}, {`7\text{ people}`, "7 persons", true}, {"3 children", "3 child", true},
	{`12\text{ apples}`, `12\text{ pears}`, false}, {"2 boxes", "2 box", true}, {"6 cherries", "6 cherry", true}, {"28%", "28 percent", true},
}

// TestMathMeans: marks between numbers, words before them and nouns after them count.
func TestMathMeans(t *testing.T) {
	v := made(t, "math", nil)
	for _, c := range mathMeans {
		if got := v.Verify(Problem{Answer: c.gold}, c.pred); (got.Verdict == Right) != c.want {
			t.Errorf("%q for %q: %s, %s", c.pred, c.gold, got.Verdict, got.Reason)
		}
	}
}

// TestMathDoubt: a reference that is read as no number says so.
func TestMathDoubt(t *testing.T) {
	v := made(t, "math", nil).(Doubter)
	for answer, want := range map[string]string{"08:06": "time", "3-4": "range", "2024-01-05": "date", "1.2.3": "version", "42": "", "7:32": "", "1.000.000": "", "-3": "", "3 - x": ""} {
		if got := v.Doubt(Problem{Answer: answer}); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q in it", answer, got, want)
		}
	}
}
