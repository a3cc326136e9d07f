#include "base/sha256.h"

#include <endian.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 64, WORDS = 8, ROUNDS = 64, LENGTH_AT = 56 };

/* The first 32 bits of the fractional parts of the cube roots of the first 64
 * primes. */
static const uint32_t constants[ROUNDS] = {0x428a2f98, 0x71374491, 0xb5c0fbcf,
    0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98,
    0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7,
    0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8,
    0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e,
    0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819,
    0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c,
    0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee,
    0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static uint32_t
rotate(uint32_t word, int by)
{
	return word >> by | word << (32 - by);
}

static void
add_block(uint32_t hash[WORDS], const unsigned char block[BLOCK])
{
	uint32_t w[ROUNDS], s[WORDS];

	for (int i = 0; i < BLOCK / 4; i++) {
		memcpy(&w[i], block + (ptrdiff_t)4 * i, sizeof(*w));
		w[i] = be32toh(w[i]);
	}
	for (int i = BLOCK / 4; i < ROUNDS; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + w[i - 7] +
		       (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
		       (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
	}
	memcpy(s, hash, sizeof(s));
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t e = s[4], a = s[0];
		uint32_t first =
		    s[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
		    ((e & s[5]) ^ (~e & s[6])) + constants[i] + w[i];
		uint32_t second =
		    (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
		    ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));

		memmove(s + 1, s, (WORDS - 1) * sizeof(*s));
		s[4] += first;
		s[0] = first + second;
	}
	for (int i = 0; i < WORDS; i++)
		hash[i] += s[i];
}

/* Behind the bytes come a one bit, zeros, and the length in bits. */
void
sha256_hex(const void *bytes, size_t length, char hex[SHA256_HEX_SIZE])
{
	uint32_t hash[WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
	    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	const unsigned char *block = bytes;
	unsigned char last[BLOCK] = {0};
	uint64_t bits = htobe64((uint64_t)length * 8);
	size_t left = length;

	for (; left >= BLOCK; left -= BLOCK, block += BLOCK)
		add_block(hash, block);
	memcpy(last, block, left);
	last[left] = 0x80;
	if (left >= LENGTH_AT) {
		add_block(hash, last);
		memset(last, 0, sizeof(last));
	}
	memcpy(last + LENGTH_AT, &bits, sizeof(bits));
	add_block(hash, last);
	for (int i = 0; i < WORDS; i++)
		snprintf(hex + (ptrdiff_t)8 * i, 9, "%08x", hash[i]);
}
